//! Dates and times as texts, by ISO 8601.

use ::parquet::basic::{ConvertedType, LogicalType, TimeUnit};
use ::parquet::data_type::Int96;
use ::parquet::schema::types::ColumnDescriptor;

const SECONDS_OF_DAY: i64 = 86_400;

/// The text of a column's whole number, if the column holds dates or times.
pub(super) fn of_integer(value: i64, of: &ColumnDescriptor) -> Option<String> {
    let unit = |unit: &TimeUnit| match unit {
        TimeUnit::MILLIS => 3,
        TimeUnit::MICROS => 6,
        TimeUnit::NANOS => 9,
    };
    let zone = |is_of_utc: bool| if is_of_utc { "Z" } else { "" };
    Some(match of.logical_type_ref() {
        Some(LogicalType::Date) => date(value),
        Some(LogicalType::Time(about)) => {
            time(value, unit(&about.unit)) + zone(about.is_adjusted_to_u_t_c)
        }
        Some(LogicalType::Timestamp(about)) => {
            moment(value, unit(&about.unit)) + zone(about.is_adjusted_to_u_t_c)
        }
        Some(_) => return None,
        None => match of.converted_type() {
            ConvertedType::DATE => date(value),
            ConvertedType::TIME_MILLIS => time(value, 3) + "Z",
            ConvertedType::TIME_MICROS => time(value, 6) + "Z",
            ConvertedType::TIMESTAMP_MILLIS => moment(value, 3) + "Z",
            ConvertedType::TIMESTAMP_MICROS => moment(value, 6) + "Z",
            _ => return None,
        },
    })
}

/// The text of a time of 96 bits: nanoseconds of a day, and the day by its Julian number.
pub(super) fn of_int96(value: &Int96) -> String {
    const DAY_OF_1970: i64 = 2_440_588;
    let &[low, high, day] = value.data() else { return String::new() };
    let nanoseconds = (u64::from(high) << 32 | u64::from(low)) as i64;
    format!("{}T{}", date(i64::from(day) - DAY_OF_1970), time(nanoseconds, 9))
}

/// The date and the time this many units after 1970 began. A second has 10^`digits` units.
fn moment(value: i64, digits: u32) -> String {
    let day = SECONDS_OF_DAY * 10_i64.pow(digits);
    format!("{}T{}", date(value.div_euclid(day)), time(value.rem_euclid(day), digits))
}

/// The time of a day, without zeros at its end.
fn time(value: i64, digits: u32) -> String {
    let of_second = 10_i64.pow(digits);
    let (seconds, part) = (value.div_euclid(of_second), value.rem_euclid(of_second));
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let part = format!(".{part:0width$}", width = digits as usize);
    let part = part.trim_end_matches('0').trim_end_matches('.');
    format!("{hour:02}:{minute:02}:{second:02}{part}")
}

/// The date this many days after 1970 began (Howard Hinnant's days_from_civil, the other way).
fn date(days: i64) -> String {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + 400 * era + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The dates are those of Python's datetime.
    #[test]
    fn times_are_written_by_iso_8601() {
        assert_eq!(moment(0, 3), "1970-01-01T00:00:00");
        assert_eq!(moment(1_577_934_245_600, 3), "2020-01-02T03:04:05.6");
        assert_eq!(moment(-1, 6), "1969-12-31T23:59:59.999999");
        assert_eq!(time(45_296_000_000_007, 9), "12:34:56.000000007");
        let (days, nanoseconds) = (2_440_588 + 18_263, 3_600_000_000_001_u64);
        let mut stored = Int96::new();
        stored.set_data(nanoseconds as u32, (nanoseconds >> 32) as u32, days);
        assert_eq!(of_int96(&stored), "2020-01-02T01:00:00.000000001");
    }
}
