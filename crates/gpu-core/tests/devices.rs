//! All devices of a choice, opened at once.
#![cfg(feature = "software")]

use gpu_core::{Device, DeviceChoice, Error, Gpu};

/// One test: the environment is set before anything else runs.
#[test]
fn every_device_is_opened_and_a_lost_one_says_so() {
    // SAFETY: no other thread of the process reads the environment now.
    unsafe {
        std::env::set_var("TESSERA_SOFTWARE_DEVICES", "3");
        std::env::set_var("TESSERA_SOFTWARE_LOST", "2:0");
    }
    for choice in [DeviceChoice::AllSoftware, DeviceChoice::AllCuda] {
        let error = Device::open(choice).unwrap_err();
        assert_eq!(error, Error::SeveralDevices { name: choice.to_string() });
        assert!(Gpu::open(choice).is_err());
    }
    assert_eq!(Device::open_all(DeviceChoice::Cpu).unwrap().len(), 1);
    assert_eq!(Gpu::open_all(DeviceChoice::Software).unwrap().len(), 1);
    // The last is lost from the start.
    let error = Device::open_all(DeviceChoice::AllSoftware).unwrap_err();
    assert!(matches!(error, Error::Driver { code: 999, .. }), "{error}");
    let first = Device::open(DeviceChoice::Software).unwrap();
    first.check().unwrap();
    Device::Cpu.check().unwrap();
}
