import type { ControlView } from "@edge-op/shared/cache/control-view";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { OAuthError, UnavailableError } from "@edge-op/shared/oauth/errors";
import type { RevocationBindings, RevocationView } from "@edge-op/shared/revocation/revocation-view";
import { settle } from "@edge-op/shared/revocation/settle";
import { expect, it } from "vitest";

/** A control version that confirmations move as `moves` says, one entry each. */
function world(start: number | undefined, moves: readonly (number | undefined)[] = []) {
  const state = { version: start, confirmations: 0 };
  const view = {
    confirmControl: async () => {
      state.version = moves[state.confirmations] ?? state.version;
      state.confirmations += 1;
    },
  };
  const isolate = { control: state, revocation: view } as unknown as {
    control: ControlView;
    revocation: RevocationView;
  };
  const context = {} as RequestContext<RevocationBindings>;
  return { state, run: <T>(decide: (confirm: () => Promise<void>) => Promise<T>) => settle(context, isolate, decide) };
}

it("an answer is confirmed before it is given, at the version it was decided at", async () => {
  const { state, run } = world(3);
  expect(await run(async () => "answer")).toBe("answer");
  expect(state.confirmations).toBe(1);
});

it("a cold isolate learns the version before it decides", async () => {
  const { state, run } = world(undefined, [3]);
  expect(await run(async () => state.version)).toBe(3);
});

it("a version that moved while deciding: the decision is made again, a refusal included", async () => {
  const answers = world(3, [4]);
  expect(await answers.run(async () => answers.state.version)).toBe(4);
  const refusals = world(3, [4]);
  const decide = async () => {
    if (refusals.state.version === 3) throw new OAuthError("invalid_client", "secret of before");
    return "accepted";
  };
  expect(await refusals.run(decide)).toBe("accepted");
});

it("a refusal that is confirmed is the answer", async () => {
  const { run } = world(3);
  const refuse = async () => {
    throw new OAuthError("invalid_grant", "expired");
  };
  await expect(run(refuse)).rejects.toThrow("invalid_grant: expired");
});

it("nothing is spent by a decision of an older version", async () => {
  const { state, run } = world(3, [4]);
  const spentAt: (number | undefined)[] = [];
  await run(async (confirm) => {
    await confirm();
    spentAt.push(state.version);
  });
  expect(spentAt).toEqual([4]);
});

it("what is spent is not spent again when the version moves afterwards", async () => {
  const { state, run } = world(3);
  let spent = 0;
  const decide = async (confirm: () => Promise<void>) => {
    await confirm();
    spent += 1;
    state.version = 4;
    return "token";
  };
  expect(await run(decide)).toBe("token");
  expect(spent).toBe(1);
});

it("a version that moves three times in one request is a store at fault", async () => {
  const { run } = world(3, [4, 5, 6]);
  await expect(run(async () => "answer")).rejects.toThrow(UnavailableError);
});

it("unavailability and bugs pass through at once", async () => {
  const { state, run } = world(3, [4]);
  const fail = async () => {
    throw new UnavailableError("D1");
  };
  await expect(run(fail)).rejects.toThrow("D1 did not answer");
  expect(state.confirmations).toBe(0);
});
