import { applyD1Migrations, type D1Migration, reset } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach } from "vitest";

/** Every test starts on an empty, migrated deployment: storage is isolated per file only, so each test wipes it. */
const { DB, TEST_MIGRATIONS } = env as unknown as { DB: D1Database; TEST_MIGRATIONS: D1Migration[] };

beforeEach(() => applyD1Migrations(DB, TEST_MIGRATIONS));
afterEach(() => reset());
