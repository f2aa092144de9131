import assert from "node:assert/strict";
import { setTimeout as wait } from "node:timers/promises";
import { inputValue } from "./browser.ts";
import { alice, type Product, until } from "./product.ts";

const starter = (name: string) =>
  `<dependency><groupId>org.springframework.boot</groupId><artifactId>${name}</artifactId></dependency>`;

const version = "4.1.2";

const pom = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <parent><groupId>org.springframework.boot</groupId><artifactId>spring-boot-starter-parent</artifactId><version>${version}</version></parent>
  <groupId>app</groupId><artifactId>app</artifactId><version>1</version>
  <properties><java.version>17</java.version></properties>
  <dependencies>${starter("spring-boot-starter-oauth2-client")}${starter("spring-boot-starter-web")}</dependencies>
  <build><plugins><plugin><groupId>org.springframework.boot</groupId><artifactId>spring-boot-maven-plugin</artifactId></plugin></plugins></build>
</project>`;

const application = `package app;
import java.util.Map;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.security.core.annotation.AuthenticationPrincipal;
import org.springframework.security.oauth2.client.OAuth2AuthorizedClient;
import org.springframework.security.oauth2.client.annotation.RegisteredOAuth2AuthorizedClient;
import org.springframework.security.oauth2.core.oidc.user.OidcUser;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;
@SpringBootApplication @RestController
public class Application {
  public static void main(String[] words) { SpringApplication.run(Application.class, words); }
  @GetMapping("/") String home(@AuthenticationPrincipal OidcUser user) { return user == null ? "Welcome" : "Signed in"; }
  @GetMapping("/me") Map<String, Object> me(@AuthenticationPrincipal OidcUser user) { return user.getClaims(); }
  @GetMapping("/token") String token(@RegisteredOAuth2AuthorizedClient("edge-op") OAuth2AuthorizedClient client) {
    return client.getAccessToken().getTokenValue();
  }
}`;

/** It refreshes an access token that expires within a minute when the application uses it. */
export const springSecurity: Product = {
  name: "Spring Security",
  packages: { maven: [`spring-boot-starter-oauth2-client@${version}`] },
  async show(run) {
    run.write("pom.xml", pom);
    run.write("src/main/java/app/Application.java", application);
    await run.execute("mvn", "-q", "-B", "package");
    await run.execute("rm", "-f", "trust.p12");
    const trust = ["-keystore", "trust.p12", "-storepass", "changeit", "-file", run.stage.certificate];
    await run.execute("keytool", "-importcert", "-noprompt", "-storetype", "PKCS12", "-alias", "op", ...trust);
    await run.changeClient({ access_token_lifetime: 64 });
    await run.start("java", ["-jar", "target/app-1.jar", `--server.port=${run.port}`], {
      JAVA_TOOL_OPTIONS: "-Djavax.net.ssl.trustStore=trust.p12 -Djavax.net.ssl.trustStorePassword=changeit",
    });
    const text = async (path: string) => (await run.browser.open(run.origin + path)).text;
    const claims = JSON.parse(await text("/me")) as Record<string, unknown>;
    assert.deepEqual([claims["name"], claims["email"]], [alice.name, alice.email]);

    const token = await text("/token");
    await wait(5_000);
    assert.notEqual(await text("/token"), token);
    assert.equal(run.tokenResponses, 2);

    const form = new URLSearchParams({ _csrf: inputValue(await text("/logout"), "_csrf") });
    await run.browser.open(`${run.origin}/logout`, { method: "POST", body: form });
    assert.equal(await text("/"), "Welcome");
    assert.equal(await run.isSignedInAtProvider(), false);

    await text("/me");
    await run.signOutAtProvider();
    await until("signed out by the back channel", async () => (await text("/")) === "Welcome");
    return { claims, refresh: "rotated", signOut: "RP-initiated, back channel" };
  },
};
