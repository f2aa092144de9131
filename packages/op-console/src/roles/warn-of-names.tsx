import type { Warning } from "../records/record.ts";
import { linesOf, type Values } from "../serve/fields.tsx";

/** A record has few; more are not looked up. */
const mostNames = 20;

/** What a name is called in the form of a record, and where it is in the admin API. */
const kinds = { roles: "readRole", groups: "readGroup" } as const;
type Kind = keyof typeof kinds;

/** **Tells before a change that it gives a role or group without effect**: often, its name is misspelt. It is allowed: an API may know the name. */
function warnOf(...names: readonly Kind[]): Warning {
  return {
    operations: names.map((name) => kinds[name]),
    async show({ api, t }, before: Values, after: Values) {
      const added = names.flatMap((kind) => {
        const had = linesOf(before[kind]);
        return linesOf(after[kind]).flatMap((name) => (had.includes(name) ? [] : [{ kind, name }]));
      });
      const looked = added.slice(0, mostNames);
      const exists = await Promise.all(looked.map(({ kind, name }) => api.has(`/${kind}/${encodeURIComponent(name)}`)));
      const unknown = looked.filter((_, at) => !exists[at]);
      if (unknown.length === 0) return null;
      return (
        <div class="note bad" role="status" id="warning">
          {t("user.namesWithout")} <strong>{unknown.map(({ name }) => name).join(", ")}</strong>
        </div>
      );
    },
  };
}

/** Of people and invitations. */
export const warnOfNames = warnOf("roles", "groups");
/** Of groups. */
export const warnOfRoles = warnOf("roles");
