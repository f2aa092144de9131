import type { Step } from "../../step/step.ts";
import { beginConfirmBrowser } from "./begin.ts";
import { showConfirmBrowser } from "./page.tsx";
import { confirmBrowserState } from "./state.ts";
import { submitConfirmBrowser } from "./submit.ts";

/** **A mailed code beside a password in a browser that is new to the person** (`NEW_BROWSER=code`). */
export const confirmBrowserStep: Step = {
  name: "confirm-browser",
  methods: ["mailedCode"],
  isForPerson: false,
  writes: false,
  state: confirmBrowserState,
  begin: beginConfirmBrowser,
  page: showConfirmBrowser,
  submit: submitConfirmBrowser,
};
