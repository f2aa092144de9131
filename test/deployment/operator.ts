import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { repositoryRoot } from "../../packages/edge-op/src/workers.ts";
import type { LocalCloudflare, RecordedCall } from "./local-cloudflare/local-cloudflare.ts";

export interface CommandResult {
  readonly code: number;
  readonly output: string;
  /** The API calls that it made. */
  readonly calls: readonly RecordedCall[];
}

/** **An operator with a terminal**: runs `npm run deploy` against the local Cloudflare, with their own directory of environments. */
export class Operator {
  readonly deployments = mkdtempSync(join(tmpdir(), "edge-op-deployments-"));
  readonly #local: LocalCloudflare;

  constructor(local: LocalCloudflare) {
    this.#local = local;
  }

  async deploy(args: readonly string[], environment: Readonly<Record<string, string>> = {}): Promise<CommandResult> {
    const from = this.#local.calls.length;
    const { code, output } = await this.#start(args, environment).result;
    return { code, output, calls: this.#local.calls.slice(from) };
  }

  /** Kills the command and all of its children when the API has carried out a call that `isLast`, before it responds. */
  async deployUntil(
    args: readonly string[],
    isLast: (call: RecordedCall) => boolean,
    environment: Readonly<Record<string, string>> = {},
  ): Promise<CommandResult & { readonly wasKilled: boolean }> {
    const from = this.#local.calls.length;
    const { kill, result } = this.#start(args, environment);
    let wasKilled = false;
    this.#local.beforeResponse = (call) => {
      if (wasKilled || !isLast(call)) return wasKilled;
      wasKilled = true;
      kill();
      return true;
    };
    try {
      const { code, output } = await result;
      return { code, output, wasKilled, calls: this.#local.calls.slice(from) };
    } finally {
      this.#local.beforeResponse = () => false;
    }
  }

  /** Pastes a block of a page: its `npm run deploy` is this operator's, who confirms what it asks. */
  async paste(block: string, environment: Readonly<Record<string, string>>): Promise<CommandResult> {
    const from = this.#local.calls.length;
    const own = `--deployments '${this.deployments}' --origin '${this.#local.edgeOrigin}' --confirm production`;
    const npm = `npm() { [ "$1 $2 $3" = "run deploy --" ] || return 9; shift 3; "$NODE" scripts/deploy.ts "$@" ${own}; }`;
    const variables = { HOME: this.deployments, NODE: process.execPath, ...environment };
    const command = ["-c", `set -eu\n${npm}\n${block}`];
    const { code, output } = await startNode(this.#local, repositoryRoot, command, variables, "bash").result;
    return { code, output, calls: this.#local.calls.slice(from) };
  }

  #start(args: readonly string[], environment: Readonly<Record<string, string>>): StartedNode {
    const command = ["scripts/deploy.ts", ...args, "--deployments", this.deployments];
    return startNode(this.#local, repositoryRoot, [...command, "--origin", this.#local.edgeOrigin], {
      HOME: this.deployments,
      ...environment,
    });
  }

  /** Environments' files, by name. */
  write(files: Readonly<Record<string, unknown>>): void {
    for (const [name, content] of Object.entries(files)) {
      writeFileSync(join(this.deployments, name), JSON.stringify(content));
    }
  }

  cleanUp(): void {
    rmSync(this.deployments, { recursive: true, force: true });
  }
}

/** Runs a script of a checkout with access to the local Cloudflare. */
export function runNode(
  local: LocalCloudflare,
  checkout: string,
  command: readonly string[],
  environment: Readonly<Record<string, string>>,
): StartedNode["result"] {
  return startNode(local, checkout, command, environment).result;
}

interface StartedNode {
  /** Kills it and its children. */
  readonly kill: () => void;
  readonly result: Promise<{ readonly code: number; readonly output: string }>;
}

function startNode(
  local: LocalCloudflare,
  checkout: string,
  command: readonly string[],
  environment: Readonly<Record<string, string>>,
  program = process.execPath,
): StartedNode {
  const child = spawn(program, command, {
    cwd: checkout,
    stdio: ["ignore", "pipe", "pipe"],
    // A separate process group.
    detached: true,
    env: {
      PATH: `${join(repositoryRoot, "node_modules/.bin")}:${process.env["PATH"] ?? ""}`,
      HOME: checkout,
      NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
      CLOUDFLARE_API_BASE_URL: local.apiUrl,
      CLOUDFLARE_API_TOKEN: local.token,
      CLOUDFLARE_CF_FETCH_ENABLED: "false",
      WRANGLER_SEND_METRICS: "false",
      WRANGLER_SEND_ERROR_REPORTS: "false",
      WRANGLER_HIDE_BANNER: "true",
      ...environment,
    },
  });
  const result = new Promise<{ readonly code: number; readonly output: string }>((resolve, reject) => {
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        output += text;
      });
    }
    child.once("error", reject);
    child.once("close", (code) => resolve({ code: code ?? 1, output }));
  });
  return { kill: () => process.kill(-child.pid!, "SIGKILL"), result };
}

/** The calls that change something: all except reads, queries that only select, and the lock of a run. */
export function changes(calls: readonly RecordedCall[]): string[] {
  return calls
    .filter(({ method, path, body }) => method !== "GET" && !(path.endsWith("/query") && isSelect(body)))
    .map(({ method, path }) => `${method} ${path}`);
}

function isSelect(body: unknown): boolean {
  const sql = typeof body === "object" && body !== null && "sql" in body ? String(body.sql) : "";
  return /^\s*SELECT\b|'lock'/i.test(sql);
}
