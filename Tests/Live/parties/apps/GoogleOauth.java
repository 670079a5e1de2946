// https://googleapis.dev/java/google-oauth-client/latest/: AuthorizationCodeFlow for any server, and IdTokenVerifier
import com.google.api.client.auth.oauth2.*;
import com.google.api.client.auth.openidconnect.*;
import com.google.api.client.http.*;
import com.google.api.client.http.javanet.NetHttpTransport;
import com.google.api.client.json.gson.GsonFactory;
import com.google.api.client.json.GenericJson;
import com.sun.net.httpserver.*;
import java.net.*;
import java.util.*;

class GoogleOauth {
  public static void main(String[] arguments) throws Exception {
    Map<String, String> told = System.getenv();
    String issuer = told.get("PARTY_ISSUER"), url = told.get("PARTY_URL"), id = told.get("PARTY_ID"), back = url + "/callback";
    HttpTransport transport = new NetHttpTransport();
    AuthorizationCodeFlow flow = new AuthorizationCodeFlow.Builder(
        BearerToken.authorizationHeaderAccessMethod(), transport, GsonFactory.getDefaultInstance(), new GenericUrl(issuer + "/oauth/token"),
        new BasicAuthentication(id, told.get("PARTY_SECRET")), id, issuer + "/oauth/authorize").setScopes(List.of("openid", "profile", "email")).build();
    IdTokenVerifier verifier = new IdTokenVerifier.Builder().setIssuer(issuer).setAudience(List.of(id))
        .setCertificatesLocation(issuer + "/.well-known/jwks.json").build();
    HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", URI.create(url).getPort()), 0);
    server.createContext("/", exchange -> {
      exchange.getResponseHeaders().set("Location", flow.newAuthorizationUrl().setRedirectUri(back).setState("s1").build());
      exchange.sendResponseHeaders(302, -1);
      exchange.close();
    });
    server.createContext("/callback", exchange -> {
      String page;
      try {
        String code = new AuthorizationCodeResponseUrl(url + exchange.getRequestURI()).getCode();
        TokenResponse tokens = flow.newTokenRequest(code).setRedirectUri(back).execute();
        IdToken token = IdToken.parse(GsonFactory.getDefaultInstance(), (String) tokens.get("id_token"));
        if (!verifier.verify(token)) throw new Exception("the ID token is not verified");
        Credential credential = flow.createAndStoreCredential(tokens, "person");
        page = "signed in: " + token.getPayload() + transport.createRequestFactory(credential).buildGetRequest(
            new GenericUrl(issuer + "/oauth/userinfo")).execute().parseAsString();
      } catch (Exception fault) {
        page = "refused: " + fault + " " + exchange.getRequestURI();
      }
      exchange.sendResponseHeaders(200, page.getBytes().length);
      exchange.getResponseBody().write(page.getBytes());
      exchange.close();
    });
    server.start();
  }
}
