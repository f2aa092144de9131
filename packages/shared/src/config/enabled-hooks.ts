/** The consequence of a failed hook: the provider continues without it, or refuses. */
export type HookFailure = "open" | "closed";

/** The hooks that `ENABLED_HOOKS` names. `undefined`: what follows its failure cannot be chosen. */
const failures = {
  claims: "open",
  beforeSignIn: "closed",
  afterSignUp: undefined,
  legacyPassword: undefined,
} as const satisfies Readonly<Record<string, HookFailure | undefined>>;

export type ListedHook = keyof typeof failures;
export type EnabledHooks = Readonly<Partial<Record<ListedHook, HookFailure>>>;

export const listedHooks = Object.keys(failures) as readonly ListedHook[];

/** `claims=closed legacyPassword`: the hooks that are called, and what follows if one fails. */
export function parseEnabledHooks(name: string, text: string): EnabledHooks {
  const parts = text.split(/\s+/).filter((part) => part !== "");
  const enabled = parts.map((part): [ListedHook, HookFailure] => {
    const [, given, failure] = /^(\w+)(?:=(open|closed))?$/.exec(part) ?? [];
    const hook = listedHooks.find((each) => each === given);
    const usual = hook && failures[hook];
    if (hook === undefined || (failure !== undefined && usual === undefined)) {
      throw new Error(
        `${name} must be ${listedHooks.join(", ")}, separated by spaces; =open or =closed after claims and beforeSignIn; not "${part}"`,
      );
    }
    return [hook, (failure as HookFailure | undefined) ?? usual ?? "closed"];
  });
  return Object.fromEntries(enabled);
}
