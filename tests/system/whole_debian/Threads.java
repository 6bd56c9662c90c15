// A pool of threads, a parallel stream, a child, a garbage collection.
import java.util.ArrayList;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;

public class Threads {
    static long work(int i) {
        long sum = 0;
        for (int k = 0; k < 1_000_000; k++) sum += k ^ i;
        return sum;
    }

    public static void main(String[] arguments) throws Exception {
        var pool = Executors.newFixedThreadPool(8);
        var results = new ArrayList<Future<Long>>();
        for (int i = 0; i < 50; i++) {
            final int number = i;
            results.add(pool.submit(() -> work(number)));
        }
        long sum = 0;
        for (var result : results) sum += result.get();
        pool.shutdown();
        System.out.println(sum);
        System.out.println(IntStream.range(0, 2_000_000).parallel().mapToLong(i -> i % 7).sum());
        System.out.println("child " + new ProcessBuilder("true").start().waitFor());
        System.gc();
        Thread.sleep(100);
        System.out.println("done");
    }
}
