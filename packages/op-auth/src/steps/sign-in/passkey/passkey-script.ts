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
  if (!form || !window.PublicKeyCredential || !PublicKeyCredential.parseRequestOptionsFromJSON) return;
  const kind = form.dataset.passkey;
  const options = JSON.parse(form.dataset.options);
  const button = form.querySelector("button");
  const failure = document.querySelector("[data-passkey-failure]");
  const exists = document.querySelector("[data-passkey-exists]");
  const notice = document.querySelector("[data-notice]");
  let autofill;

  const show = (shown) => {
    for (const note of [notice, failure, exists]) if (note) note.hidden = note !== shown;
    shown?.scrollIntoView({ block: "nearest" });
  };

  const send = (credential) => {
    form.elements.credential.value = JSON.stringify(credential.toJSON());
    form.submit();
  };
  const ask = async (mediation, signal) => {
    const credential = kind === "create"
      ? await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options), ...(signal && { mediation, signal }) })
      : await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options), mediation, signal });
    if (!credential) return;
    if (kind === "create" && signal) form.elements.conditional.value = "1";
    send(credential);
  };
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    autofill?.abort();
    button.disabled = true;
    show(null);
    try {
      await ask("optional");
    } catch (error) {
      if (error.name !== "AbortError") show(exists && error.name === "InvalidStateError" ? exists : failure);
    }
    button.disabled = false;
  });
  form.hidden = false;
  document.querySelectorAll("[data-with-passkey]").forEach((element) => { element.hidden = false; });
  const isConditional = async () => {
    if (kind === "get") return PublicKeyCredential.isConditionalMediationAvailable?.();
    if (!form.elements.conditional) return false;
    return (await PublicKeyCredential.getClientCapabilities?.())?.conditionalCreate;
  };
  isConditional().then((available) => {
    if (!available || form.querySelector("button").disabled) return;
    autofill = new AbortController();
    ask("conditional", autofill.signal).catch(() => {});
  });
})();
`.trim();

/**
 * **The script of the sign-in and account pages**, which runs in the browser. Without it people sign in by password. A form with `data-passkey="get"`
 * offers passkeys in the autofill of the username field and by its button; `create` creates one, and with the field `conditional` also without a click, if the
 * browser has just filled in the person's password.
 *
 * @see https://www.w3.org/TR/webauthn-3/#sctn-parseRequestOptionsFromJSON
 */
export const passkeyScript: Script = { name: "passkey.js", body };
