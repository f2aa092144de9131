import { grantKey } from "@edge-op/shared/grants/grant-revocation";
import { objectName, parseTokenId, type ShardAddress } from "@edge-op/shared/storage/shard-address";
import { beforeEach, describe, expect, it } from "vitest";
import { openSecondGeneration, retireFirstGeneration } from "../../../test/fixtures/open-generation.ts";
import type { SeededClient } from "../../../test/fixtures/seed.ts";
import { LoginFixtures, seedApp, seedPeople, type Tokens, tokensOf } from "./fixtures/login-fixtures.ts";
import { claimsOf, errorOf, tokenEnv } from "./fixtures/token-fixtures.ts";

/** **A refresh moves its grant to the newest generation of revocation shards** (ADR 16), so that the older one drains. */
let isolate: LoginFixtures;
let app: SeededClient;

beforeEach(async () => {
  await openSecondGeneration(tokenEnv, "revocation");
  isolate = new LoginFixtures();
  await seedPeople();
  app = await seedApp();
});

const first: ShardAddress = { generation: 1, region: "wnam", shard: 3 };
const idOf = (token: string) => parseTokenId(String(claimsOf(token)["jti"]))!;

let grants = 0;

/** Signs in on the first generation, and refreshes on the second. */
async function moved() {
  grants += 1;
  const grant = { grantId: `moved-grant-${grants}-0000000000`, address: first, grantCreatedAtMs: Date.now() };
  const code = await isolate.authorize({ grant });
  const before = await tokensOf(await isolate.redeem(code, app));
  const after = await tokensOf(await isolate.refresh(before.refresh_token, app));
  return { code, grant, before, after };
}

/** The shards on which a grant is revoked. */
async function revokedAt({ access_token: token }: Tokens): Promise<boolean> {
  const { address, grantId } = idOf(token);
  const shard = tokenEnv.TOKEN_REVOCATION_STORE.getByName(objectName("revocation", address));
  return (await shard.check([grantKey(grantId)], [], -1)).revoked.length > 0;
}

it("the access token and the ID token of a refresh are on the newest generation, those of a retry too; the grant stays", async () => {
  const { grant, before, after } = await moved();
  expect(idOf(before.access_token)).toMatchObject({ address: first, grantId: grant.grantId });
  const again = await tokensOf(await isolate.refresh(before.refresh_token, app));
  for (const token of [after.access_token, after.id_token, again.access_token, again.id_token])
    expect(idOf(token)).toMatchObject({ address: { generation: 2, region: "wnam" }, grantId: grant.grantId });
});

describe("R3: the end of a moved grant is a row at each of its places, before the response", () => {
  it("a refresh token that is used again", async () => {
    const { before, after } = await moved();
    const last = await tokensOf(await isolate.refresh(after.refresh_token, app));
    expect(await errorOf(await isolate.refresh(before.refresh_token, app))).toBe("400 invalid_grant");
    for (const tokens of [before, after, last]) expect(await revokedAt(tokens)).toBe(true);
  });

  it("a code that is redeemed again", async () => {
    const { code, before, after } = await moved();
    expect(await errorOf(await isolate.redeem(code, app))).toBe("400 invalid_grant");
    for (const tokens of [before, after]) expect(await revokedAt(tokens)).toBe(true);
    expect(await errorOf(await isolate.refresh(after.refresh_token, app))).toBe("400 invalid_grant");
  });
});

it("G2: when the generation in which a grant began is retired, its refresh tokens are valid, used or not, until they are revoked", async () => {
  const { grant, after } = await moved();
  const unused = await isolate.signIn(app, { grant: { ...grant, grantId: `${grant.grantId}-unused` } });
  await retireFirstGeneration(tokenEnv, "revocation");
  const cold = new LoginFixtures();
  for (const tokens of [after, unused]) {
    const next = await tokensOf(await cold.refresh(tokens.refresh_token, app));
    expect(idOf(next.access_token)).toMatchObject({ address: { generation: 2 } });
    await tokensOf(await cold.refresh(next.refresh_token, app));
    expect(await errorOf(await cold.refresh(tokens.refresh_token, app))).toBe("400 invalid_grant");
    expect(await revokedAt(next)).toBe(true);
  }
});
