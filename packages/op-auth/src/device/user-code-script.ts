import type { Script } from "@edge-op/pages/assets";

/**
 * Formats the code as it is typed: upper case, and a dash after four letters. The cursor stays at its letter. A text with more
 * letters, a pasted sentence, stays. Without the script, the same text is accepted as typed.
 */
const body = `
"use strict";
const field = document.getElementById("user-code");
const lettersOf = (text) => text.normalize("NFKC").toUpperCase().replace(/[^A-Z]/g, "");
const format = (letters) => (letters.length > 4 ? letters.slice(0, 4) + "-" + letters.slice(4) : letters);
field?.addEventListener("input", (event) => {
  if (event.isComposing || lettersOf(field.value).length > 8) return;
  const before = lettersOf(field.value.slice(0, field.selectionStart ?? field.value.length)).length;
  const formatted = format(lettersOf(field.value));
  if (formatted === field.value) return;
  field.value = formatted;
  const at = before > 4 ? before + 1 : before;
  field.setSelectionRange(at, at);
});
`.trim();

export const userCodeScript: Script = { name: "user-code.js", body };
