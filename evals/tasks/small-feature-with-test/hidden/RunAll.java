import java.lang.reflect.Method;

/** RunAll CLASS...: calls main of each; a test that fails ends the program. */
public final class RunAll {
    public static void main(String[] args) throws Exception {
        for (String name : args) {
            Method main = Class.forName(name).getMethod("main", String[].class);
            main.setAccessible(true); // the class need not be public
            main.invoke(null, (Object) new String[0]);
        }
        System.out.println("all of them ended");
    }
}
