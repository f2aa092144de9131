import { type AuthKey, authCatalog } from "../pages/messages.ts";

type EventOf<Key> = Key extends `activity.${infer Type extends `${string}.${string}`}` ? Type : never;

/** **Types of audit events that the activity page shows**: those that have a text. */
export function isShownEvent(type: string): type is EventOf<AuthKey> {
  return type.includes(".") && Object.hasOwn(authCatalog.english, `activity.${type}`);
}
