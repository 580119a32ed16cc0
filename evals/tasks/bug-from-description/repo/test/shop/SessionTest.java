package shop;

import java.util.Map;

public final class SessionTest {
    public static void main(String[] args) {
        Check check = new Check("SessionTest");
        Session session = new Session(Map.of("P1", new Article("P1", "pot", 995)));
        check.equal("unknown article", "there is no article X\n", session.command("put X 1"));
        session.command("put P1 2");
        check.equal("receipt",
            "2 pot                   19.90\n"
                + "sum                     19.90\n"
                + "shipping                 4.90\n"
                + "to pay                  24.80\n",
            session.command("receipt"));
        check.equal("unknown command", "unknown command buy\n", session.command("buy"));
        check.done();
    }
}
