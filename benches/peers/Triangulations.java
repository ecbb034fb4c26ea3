import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.tinfour.common.Vertex;
import org.tinfour.interpolation.NaturalNeighborInterpolator;
import org.tinfour.standard.IncrementalTin;
import org.tinfour.utils.HilbertSort;

/**
 * Times Tinfour's Delaunay triangulation, and its natural neighbours, on the clouds of `delaunay_bench write FOLDER`.
 *
 * <p>`java -Xmx8g -cp CLASSES Triangulations FOLDER SIDE NAME..`, with SIDE 0 for no surface. Tinfour is the repository
 * gwlucastrig/Tinfour, its folder core/src/main/java compiled by javac into CLASSES, and this file beside it.
 *
 * <p>Rows are delaunay_bench's. Each cloud is done three times, so that the compiler of the virtual machine is warm, and
 * the best of the three is the row. The time has the making of vertices in Hilbert's order.
 */
public final class Triangulations {
    private static final double EXTENT = 1000.0;
    private static final int RUNS = 3;

    private Triangulations() {}

    private static double[] column(Path path) throws IOException {
        ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(path)).order(ByteOrder.LITTLE_ENDIAN);
        DoubleBuffer numbers = bytes.asDoubleBuffer();
        double[] values = new double[numbers.remaining()];
        numbers.get(values);
        return values;
    }

    private static void row(String work, long points, long other, double[] times) {
        java.util.Arrays.sort(times);
        String row = "tinfour\t%s\t%d\t%d\t%.5f\t%.5f\t%.5f%n";
        System.out.printf(row, work, points, other, times[0], times[0], times[times.length - 1]);
    }

    private static IncrementalTin mesh(double[] x, double[] y, double[] z) {
        List<Vertex> vertices = new ArrayList<>(x.length);
        for (int i = 0; i < x.length; i++) {
            vertices.add(new Vertex(x[i], y[i], z[i], i));
        }
        new HilbertSort().sort(vertices);
        IncrementalTin mesh = new IncrementalTin(EXTENT / Math.sqrt(x.length));
        mesh.add(vertices, null);
        return mesh;
    }

    /** The sum of the values at the centres of cells inside the hull. */
    private static double surface(IncrementalTin mesh, int side) {
        NaturalNeighborInterpolator walk = new NaturalNeighborInterpolator(mesh);
        double cell = EXTENT / side;
        double sum = 0.0;
        for (int line = 0; line < side; line++) {
            for (int place = 0; place < side; place++) {
                double value = walk.interpolate((place + 0.5) * cell, EXTENT - (line + 0.5) * cell, null);
                sum += Double.isNaN(value) ? 0.0 : value;
            }
        }
        return sum;
    }

    public static void main(String[] words) throws IOException {
        Path folder = Path.of(words[0]);
        int side = Integer.parseInt(words[1]);
        for (int i = 2; i < words.length; i++) {
            String name = words[i];
            double[] x = column(folder.resolve(name + ".x"));
            double[] y = column(folder.resolve(name + ".y"));
            double[] z = column(folder.resolve(name + ".z"));
            double[] built = new double[RUNS];
            double[] made = new double[RUNS];
            long triangles = 0;
            double sum = 0.0;
            for (int run = 0; run < RUNS; run++) {
                long begin = System.nanoTime();
                IncrementalTin mesh = mesh(x, y, z);
                built[run] = (System.nanoTime() - begin) * 1e-6;
                if (side > 0) {
                    sum = surface(mesh, side);
                    made[run] = (System.nanoTime() - begin) * 1e-6;
                }
                triangles = mesh.countTriangles().getCount();
                mesh.dispose();
            }
            row("delaunay_" + name, x.length, triangles, built);
            if (side > 0) {
                System.out.printf("# sum of the values: %.9g%n", sum);
                row("surface_" + side + "_" + name, x.length, (long) side * side, made);
            }
        }
    }
}
