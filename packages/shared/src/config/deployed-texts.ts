import type { LanguageInfo } from "./text-languages.ts";

type Load = () => Promise<{ readonly default: Readonly<Record<string, string>> }>;

/** **Texts of a deployment's own**: none. A build replaces this file if the deployment has `deployments/texts/`. */
export const deployedTexts: Readonly<Record<string, Load>> = {};

/** Languages that only the deployment has. */
export const deployedLanguages: Readonly<Record<string, LanguageInfo>> = {};
