package shop;

import java.util.Map;

/** What the web page calls: the commands of one customer, each answered with a text. */
public final class Session {
    private final Map<String, Article> catalogue;
    private final Cart cart = new Cart();

    public Session(Map<String, Article> catalogue) {
        this.catalogue = catalogue;
    }

    /** put NUMBER COUNT, change NUMBER COUNT, drop NUMBER, empty, receipt */
    public String command(String text) {
        String[] words = text.strip().split("\\s+");
        switch (words[0]) {
            case "put":
                Article article = catalogue.get(words[1]);
                if (article == null) {
                    return "there is no article " + words[1] + "\n";
                }
                cart.add(article, Integer.parseInt(words[2]));
                return "";
            case "change":
                cart.change(words[1], Integer.parseInt(words[2]));
                return "";
            case "drop":
                cart.remove(words[1]);
                return "";
            case "empty":
                cart.clear();
                return "";
            case "receipt":
                return Receipt.print(cart);
            default:
                return "unknown command " + words[0] + "\n";
        }
    }
}
