import type { Script } from "@edge-op/pages/assets";

const body = `
"use strict";
(() => {
  const signal = document.querySelector("[data-passkey-signal]");
  if (signal && window.PublicKeyCredential) {
    const { accepted, details, unknown } = JSON.parse(signal.dataset.passkeySignal);
    if (accepted) PublicKeyCredential.signalAllAcceptedCredentials?.(accepted).catch(() => {});
    if (details) PublicKeyCredential.signalCurrentUserDetails?.(details).catch(() => {});
    if (unknown) PublicKeyCredential.signalUnknownCredential?.(unknown).catch(() => {});
  }
  const form = document.querySelector("form[data-passkey]");
  if (!form) return;
  const reveal = (selector) => document.querySelectorAll(selector).forEach((element) => { element.hidden = false; });
  if (!window.PublicKeyCredential) return reveal("[data-no-passkeys]");
  const kind = form.dataset.passkey;
  const button = form.querySelector("button");
  const failure = document.querySelector("[data-passkey-failure]");
  const exists = document.querySelector("[data-passkey-exists]");
  const notice = document.querySelector("[data-notice]");
  const failed = failure?.textContent;
  const cancelled = failure?.dataset.passkeyFailure;
  let autofill;

  const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (each) => each.charCodeAt(0));
  const text = (buffer) => buffer &&
    btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\\+/g, "-").replace(/\\//g, "_").replace(/=/g, "");
  const described = (list = []) => list.map((each) => ({ ...each, id: bytes(each.id) }));
  const options = JSON.parse(form.dataset.options);
  options.challenge = bytes(options.challenge);
  options.allowCredentials = described(options.allowCredentials);
  options.excludeCredentials = described(options.excludeCredentials);
  if (options.user) options.user.id = bytes(options.user.id);

  const show = (shown) => {
    for (const note of [notice, failure, exists]) if (note) note.hidden = note !== shown;
    shown?.scrollIntoView({ block: "nearest" });
  };

  const send = (credential) => {
    const { id, rawId, type, authenticatorAttachment, response } = credential;
    const sent = { transports: response.getTransports?.() };
    for (const name of ["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"]) {
      sent[name] = text(response[name]) || undefined;
    }
    form.elements.credential.value = JSON.stringify({
      id, rawId: text(rawId), type, authenticatorAttachment, response: sent,
      clientExtensionResults: credential.getClientExtensionResults(),
    });
    form.submit();
  };
  const ask = (mediation, signal) => {
    const publicKey = options;
    const asked = kind === "create"
      ? navigator.credentials.create({ publicKey, ...(signal && { mediation, signal }) })
      : navigator.credentials.get({ publicKey, mediation, signal });
    return asked.then((credential) => {
      if (!credential) return;
      if (kind === "create" && signal) form.elements.conditional.value = "1";
      send(credential);
    });
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    autofill?.abort();
    button.disabled = true;
    button.setAttribute("aria-busy", "true");
    show(null);
    ask("optional").catch((error) => {
      if (failure) failure.textContent = error.name === "NotAllowedError" && cancelled || failed;
      if (error.name !== "AbortError") show(exists && error.name === "InvalidStateError" ? exists : failure);
    }).then(() => { button.disabled = false; button.removeAttribute("aria-busy"); });
  });
  form.hidden = false;
  reveal("[data-with-passkey]");
  const isConditional = () => {
    if (kind === "get") return PublicKeyCredential.isConditionalMediationAvailable?.();
    if (!form.elements.conditional) return false;
    return PublicKeyCredential.getClientCapabilities?.().then((able) => able?.conditionalCreate);
  };
  Promise.resolve(isConditional()).then((available) => {
    if (!available || button.disabled) return;
    autofill = new AbortController();
    ask("conditional", autofill.signal).catch(() => {});
  });
})();
`.trim();

/**
 * **The script of the sign-in and account pages**, which runs in the browser. Without it people sign in by password. A form with `data-passkey="get"`
 * offers passkeys in the autofill of the username field and by its button; `create` creates one, and with the field `conditional` also without a
 * click, if the browser has just filled in the person's password. It translates options and credentials itself: Safari before 18.4 cannot, and
 * extensions that replace `navigator.credentials` return objects without `toJSON`. A browser without WebAuthn shows what has `data-no-passkeys`. Old
 * engines parse it (no `async`).
 *
 * @see https://www.w3.org/TR/webauthn-3/#sctn-parseRequestOptionsFromJSON
 */
export const passkeyScript: Script = { name: "passkey.js", body };
