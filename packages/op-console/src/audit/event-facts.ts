import { isJsonObject } from "@edge-op/protocol/encoding/json-object";
import type { ShownEvent } from "@edge-op/shared/audit/list-events";
import { bytesInPage, countFitting } from "../serve/clip.ts";
import type { ConsoleKey } from "../serve/messages.ts";
import type { Fact } from "../serve/parts.tsx";
import type { PageCall } from "../serve/route.ts";

/** Members with words, in the order in which they are shown. Those of `detail` that have none keep the names of the API. */
const labels: Readonly<Record<string, ConsoleKey>> = {
  time: "event.time",
  target: "event.target",
  reason: "event.reason",
  fields: "event.fields",
  sub: "audit.bySub",
  client_id: "audit.byClient",
  actor: "audit.byActor",
  actor_client_id: "event.actorClient",
  amr: "event.amr",
  scope: "event.scope",
  address: "event.address",
  request_id: "audit.byRequest",
};

/** Bytes of the facts of one event: a page has thirty of them, and 50 kB. */
const longestFacts = 1_200;
const longestValue = 160;
/** Of the elements of a fact. */
const markup = 45;

/** **What an audit event says, as names and values**: its own members and those of its detail, also those below other members. */
export function eventFacts(t: PageCall["t"], event: ShownEvent): readonly Fact[] {
  const { type: _, position, detail, shard, seq: __, hash: ___, ...members } = event;
  const given = new Map(textsOf({ ...detail, ...members }));
  const known = Object.entries(labels).flatMap(([name, label]): Fact[] => {
    const value = given.get(name);
    return value === undefined || !given.delete(name) ? [] : [[t(label), value]];
  });
  const others = [...given].map(([name, value]): Fact => [name, value, "data"]);
  const facts: readonly Fact[] = [...known, ...others, [t("event.position"), `${position} · ${shard}`]];
  const bytes = facts.map(([name, value]) => bytesInPage(`${name}${value}`) + markup);
  const count = countFitting(bytes, longestFacts);
  return count < facts.length ? [...facts.slice(0, count), ["…", `+${facts.length - count}`]] : facts;
}

/** The values of members as texts; a member of a member is `outer.inner`. */
function textsOf(members: Readonly<Record<string, unknown>>, outer = ""): (readonly [string, string])[] {
  return Object.entries(members).flatMap(([member, value]) => {
    const name = `${outer}${member}`;
    if (isJsonObject(value)) return textsOf(value, `${name}.`);
    const isPlain = Array.isArray(value) && value.every((each) => typeof each !== "object");
    const text = typeof value === "string" ? value : isPlain ? value.join(", ") : JSON.stringify(value);
    return text === "" ? [] : [[name, text.length > longestValue ? `${text.slice(0, longestValue)}…` : text]];
  });
}
