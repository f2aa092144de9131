import { expect, it } from "vitest";
import { describeWait } from "../src/describe-values.ts";

it.each([
  ["en", 1, "1 second"],
  ["en", 119, "119 seconds"],
  ["en", 121, "3 minutes"],
  ["de", 299, "5 Minuten"],
])("a time to wait in %s, %i seconds: %s", (language, seconds, text) => {
  expect(describeWait(language, seconds)).toBe(text);
});
