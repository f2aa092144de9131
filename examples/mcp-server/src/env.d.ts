/** The bindings of wrangler.toml. */
declare namespace Cloudflare {
  interface Env {
    /** The URL of this server: the audience of its tokens. */
    readonly RESOURCE: string;
    readonly ISSUER: string;
    readonly PROVIDER: import("@edge-op/resource-server/token-validation").ProviderBinding;
  }
}
