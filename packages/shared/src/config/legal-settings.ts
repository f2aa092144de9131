import { setting } from "./setting.ts";

/** **Where the terms of service and the privacy policy of a deployment are**: linked on every page and named in discovery. */
export const legalSettings = {
  termsUrl: setting("TERMS_URL", {
    accepts: "an `https:` URL",
    meaning:
      "Terms of service of the provider: linked below each page, and `op_tos_uri` in discovery. Without one: no link. With `TERMS_VERSION`, people agree to them.",
    parse: parsePageUrl,
  }),
  privacyUrl: setting("PRIVACY_URL", {
    accepts: "an `https:` URL",
    meaning:
      "Privacy policy of the provider: linked below each page, and `op_policy_uri` in discovery. Without one: no link.",
    parse: parsePageUrl,
  }),
};

function parsePageUrl(name: string, text: string): string {
  const url = URL.parse(text);
  if (url?.protocol !== "https:" || url.username !== "" || url.password !== "") {
    throw new Error(`${name} must be an https: URL, not "${text}"`);
  }
  return text;
}
