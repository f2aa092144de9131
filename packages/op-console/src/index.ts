import { reportFacts } from "@edge-op/shared/http/report-facts";
import { createApp } from "./app.ts";

export default { fetch: reportFacts("op-console", createApp().fetch) };
