/**
 * **A model of a grant whose tokens move between generations of revocation shards while it is revoked** (ADR 16), explored to every state that can be
 * reached: uses and replays of refresh tokens, revocations by a client, by the object that detected a theft and by a cut-off, openings, retirements,
 * lost responses, and Workers that are lost between any two writes. Time is in ticks; a token lives one or two, an isolate knows the generations of a
 * tick ago at worst. It knows nothing of leases: a row is in force when it is written.
 */

const longestLife = 2;
const settling = 1;
const lastTick = 5;
const mostGenerations = 2;
const mostVersions = 2;

/** The end of what is at each generation, by its index; 0: nothing. */
type Ends = readonly number[];

/** The remaining work of a revocation: nothing, end the family, or write rows. */
type Work = "none" | "end" | "write";

interface State {
  readonly now: number;
  /** When each generation but the newest was closed. */
  readonly closedAt: readonly number[];
  readonly retired: readonly boolean[];
  readonly family: "unborn" | "live" | "ended";
  readonly version: number;
  readonly places: Ends;
  /** The end of the last token and, of those at the same generation, nothing shorter matters. */
  readonly tokens: Ends;
  readonly rows: Ends;
  readonly work: Work;
  readonly todo: Ends;
  /** Rows that the object which detected a theft still has to write. */
  readonly due: Ends;
  readonly stolen: boolean;
  readonly cutOffAt: number;
  readonly answered: boolean;
  readonly fault: string;
}

/** The rules of the product; a mutant replaces some. */
export interface Rules {
  /** The end of a new place, and what is remembered of the others. */
  readonly place: (places: Ends, at: number, end: number, now: number) => Ends;
  /** The places that the next rotator stores when the family moves to it. */
  readonly handOver: (places: Ends) => Ends;
  /** The rows that a revocation writes. */
  readonly rowsOf: (places: Ends) => Ends;
  readonly endsFamily: boolean;
  readonly readsPlacesFirst: boolean;
  readonly remembersUnborn: boolean;
  /** Succeeds with the grant's own place if the family's object does not respond. */
  readonly guessesPlaces: boolean;
  readonly waitsForAllRows: boolean;
  readonly keepsDueRows: boolean;
  readonly retiresAfter: number;
  readonly cutsOffEverywhere: boolean;
}

const set = (ends: Ends, at: number, end: number): Ends =>
  Array.from({ length: mostGenerations }, (_, index) => (index === at ? end : endAt(ends, index)));
const endAt = (ends: Ends, at: number): number => ends[at] ?? 0;
const isNothing = (ends: Ends): boolean => ends.every((end) => end === 0);

export const rules: Rules = {
  place: (places, at, end, now) =>
    set(
      places.map((earlier) => (earlier > now ? earlier : 0)),
      at,
      Math.max(end, endAt(places, at)),
    ),
  handOver: (places) => places,
  rowsOf: (places) => places,
  endsFamily: true,
  readsPlacesFirst: false,
  remembersUnborn: true,
  guessesPlaces: false,
  waitsForAllRows: true,
  keepsDueRows: true,
  retiresAfter: longestLife + settling,
  cutsOffEverywhere: true,
};

/** The newest place alone. */
const newest = (places: Ends): Ends =>
  places.map((end, at) => (places.slice(at + 1).every((later) => later === 0) ? end : 0));

export const mutants: Readonly<Record<string, Partial<Rules>>> = {
  "a row at the first place alone": { rowsOf: (places) => places.map((end, at) => (at === 0 ? end : 0)) },
  "a row at the newest place alone": { rowsOf: newest },
  "a rotation that forgets the earlier places": { place: (_, at, end) => set([], at, end) },
  "a place that ends with its newest token": { place: (places, at, end) => set(places, at, end) },
  "a family that forgets its places when it moves": { handOver: newest },
  "a family that is not ended": { endsFamily: false },
  "places that are read before the family is ended": { readsPlacesFirst: true },
  "a family that ends before its first use, not remembered": { remembersUnborn: false },
  "a guess of the places if the family does not respond": { guessesPlaces: true },
  "a response after the first row": { waitsForAllRows: false },
  "due rows that are forgotten when one is written": { keepsDueRows: false },
  "a retirement without the time in which a stale isolate issues": { retiresAfter: longestLife },
  "a retirement after the usual life of a token": { retiresAfter: 1 + settling },
  "a cut-off at the newest generation alone": { cutsOffEverywhere: false },
};

const begin: State = {
  ...{ now: 0, closedAt: [], retired: [false], family: "unborn", version: 0, stolen: false, fault: "" },
  ...{ places: set([], 0, longestLife), tokens: set([], 0, longestLife), rows: set([], 0, 0), work: "none" },
  ...{ todo: [], due: [] },
  ...{ cutOffAt: -1, answered: false },
};

/** Whether a resource server accepts a token of this generation. */
function isAccepted(state: State, at: number, { cutsOffEverywhere }: Rules): boolean {
  if (state.retired[at] || endAt(state.rows, at) > state.now) return false;
  const isCutOffKnown = cutsOffEverywhere || at === state.closedAt.length;
  // Shards replicate a cut-off for as long as a token of before can be alive.
  const isCutOff = state.cutOffAt >= 0 && state.now < state.cutOffAt + longestLife + settling;
  return !(isCutOff && isCutOffKnown);
}

function faultOf(state: State, by: Rules): string {
  for (const [at, end] of state.tokens.entries()) {
    if (end <= state.now) continue;
    const accepted = isAccepted(state, at, by);
    if (state.answered && accepted) return "an access token is accepted after the response to the revocation";
    if (state.retired[at]) return "a retired generation has a live token";
  }
  return "";
}

/** Every state that can follow. */
function* steps(state: State, by: Rules): Generator<State> {
  const { now, closedAt, retired } = state;
  const generations = closedAt.length + 1;
  if (now < lastTick) {
    const rows = state.rows.map((end) => (end > now + 1 ? end : 0));
    const tokens = state.tokens.map((end) => (end > now + 1 ? end : 0));
    yield { ...state, now: now + 1, rows, tokens };
  }
  if (generations < mostGenerations) yield { ...state, closedAt: [...closedAt, now], retired: [...retired, false] };
  for (const [at, closed] of closedAt.entries())
    if (!retired[at] && now >= closed + by.retiresAfter)
      yield { ...state, retired: retired.map((was, index) => was || index === at) };
  yield* uses(state, by);
  yield* revocations(state, by);
}

function* uses(state: State, by: Rules): Generator<State> {
  const { now, closedAt, version } = state;
  const isCutOff = state.cutOffAt >= 0;
  if (state.family === "ended" || isCutOff) return;
  if (version < mostVersions)
    for (let at = 0; at <= closedAt.length; at += 1) {
      if (at < closedAt.length && now > closedAt[at]! + settling) continue;
      for (const life of [1, longestLife]) {
        const places = by.place(state.places, at, now + life, now);
        const tokens = set(state.tokens, at, Math.max(endAt(state.tokens, at), now + life));
        const fault = state.answered ? "a refresh succeeds after the response to the revocation" : "";
        // A replay gives the same tokens; a rotation that is taken back gives none and leaves the place.
        yield { ...state, family: "live", version: version + 1, places, tokens, fault };
        yield { ...state, family: "live", places };
      }
    }
  if (version > 0) yield { ...state, places: by.handOver(state.places) };
  // A token of an older version: the family ends in the same transaction, and its rows are due there.
  if (version > 1) yield { ...state, family: "ended", stolen: true, due: by.rowsOf(state.places) };
}

function* revocations(state: State, by: Rules): Generator<State> {
  const { now, places, work, todo, due, retired } = state;
  if (state.answered) return;
  if (state.cutOffAt < 0) yield { ...state, cutOffAt: now, answered: true };
  if (work === "none") {
    // The theft is repeated, or its Worker goes on: it responds when nothing is due.
    if (state.stolen) yield isNothing(due) ? { ...state, answered: true } : { ...state, work: "write", todo: due };
    yield { ...state, work: "end", todo: by.readsPlacesFirst ? by.rowsOf(places) : [] };
    return;
  }
  // The Worker is lost, or a call of it.
  yield { ...state, work: "none", todo: [] };
  if (work === "end") {
    const isForgotten = state.family === "unborn" && !by.remembersUnborn;
    const family = by.endsFamily && !isForgotten ? "ended" : state.family;
    const rows = by.readsPlacesFirst ? todo : by.rowsOf(places);
    yield { ...state, family, work: "write", todo: rows };
    // The family has ended, and the Worker does not learn it.
    yield { ...state, family, work: "none", todo: [] };
    if (by.guessesPlaces) yield { ...state, work: "write", todo: set([], 0, endAt(places, 0)) };
    return;
  }
  if (isNothing(todo)) yield { ...state, work: "none", answered: true };
  const written = todo.some((end, at) => end !== 0 && endAt(state.rows, at) >= end);
  if (!by.waitsForAllRows && written) yield { ...state, work: "none", todo: [], answered: true };
  for (const [at, end] of todo.entries()) {
    if (end === 0) continue;
    const isNeeded = !retired[at] && end > now;
    const rows = isNeeded ? set(state.rows, at, Math.max(end, endAt(state.rows, at))) : state.rows;
    const left = state.stolen && !by.keepsDueRows ? [] : set(due, at, 0);
    yield { ...state, rows, todo: set(todo, at, 0), due: state.stolen ? left : due };
  }
}

export interface Exploration {
  readonly states: number;
  /** The first violation of an invariant, with the number of steps that lead to it. */
  readonly fault: string | undefined;
}

/** Every state that the rules allow, breadth first, until one violates an invariant. */
export function explore(by: Rules): Exploration {
  const seen = new Set([JSON.stringify(begin)]);
  let edge: readonly State[] = [begin];
  for (let depth = 1; edge.length > 0; depth += 1) {
    const next: State[] = [];
    for (const state of edge)
      for (const after of steps(state, by)) {
        const text = JSON.stringify(after);
        if (seen.has(text)) continue;
        seen.add(text);
        const fault = after.fault || faultOf(after, by);
        if (fault !== "") return { states: seen.size, fault: `${fault}, after ${depth} steps` };
        next.push(after);
      }
    edge = next;
  }
  return { states: seen.size, fault: undefined };
}
