/**
 * **Runs a script on the pinned toolchain**, so that `npm start` and `npm test` need only Node 20 and npm. Installs the dependencies with pnpm if
 * they differ from the lockfile, then runs the script on the Node that npm installed. npm installs pnpm from scripts/pnpm/package-lock.json, which
 * contains its hashes. Plain JavaScript, because the machine's own Node may not run TypeScript.
 */

import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const [script, ...scriptArguments] = process.argv.slice(2);

/** pnpm writes the lockfile that it has installed into node_modules. */
function isInstalled() {
  const installed = join(root, "node_modules/.pnpm/lock.yaml");
  return existsSync(installed) && readFileSync(installed).equals(readFileSync(join(root, "pnpm-lock.yaml")));
}

const pnpmFolder = join(root, "scripts/pnpm");

function readPackages(lockfile) {
  return existsSync(lockfile) ? JSON.parse(readFileSync(lockfile, "utf8")).packages : {};
}

/** npm compares downloads with the hashes in the lockfile, and writes a list of the installed packages. */
function installPnpm() {
  const pinned = readPackages(join(pnpmFolder, "package-lock.json"));
  const isPinned = ([path, { integrity }]) => pinned[path]?.integrity === integrity;
  const installed = () => Object.entries(readPackages(join(pnpmFolder, "node_modules/.package-lock.json")));
  if (installed().some(([path]) => path === "node_modules/pnpm") && installed().every(isPinned)) return;
  const quiet = ["--no-audit", "--no-fund", "--loglevel=error"];
  run("npm", ["install", "--no-save", "--ignore-scripts", ...quiet], pnpmFolder);
  for (const [path] of installed().filter((entry) => !isPinned(entry))) {
    console.warn(
      `${path} was installed without a pinned hash: scripts/pnpm/package-lock.json has none for this platform.`,
    );
  }
}

function install() {
  console.log("Installing dependencies (only when they changed; about 20 s the first time) …");
  installPnpm();
  run(
    process.execPath,
    [join(pnpmFolder, "node_modules/pnpm/bin/pnpm.mjs"), "install", "--frozen-lockfile", "--loglevel=error"],
    root,
  );
}

function run(command, commandArguments, cwd) {
  const shell = process.platform === "win32" && command === "npm";
  const { status } = spawnSync(command, commandArguments, { cwd, stdio: "inherit", shell });
  if (status === 0) return;
  console.error("\nThe dependencies could not be installed. Is a package registry reachable? See the lines above.");
  process.exit(status ?? 1);
}

/** The pinned Node. If npm has none for this platform, the running Node, if it is new enough. */
function nodeBinary() {
  const pinned = join(root, "node_modules/node/bin/node");
  if (existsSync(pinned)) return pinned;
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  if (major > 22 || (major === 22 && minor >= 18)) return process.execPath;
  console.error(
    "Node 24 is not in node_modules: its download failed, or npm has none for this platform. Delete node_modules and run the command again, or install Node 22.18 or newer.",
  );
  process.exit(1);
}

if (Number(process.versions.node.split(".")[0]) < 20) {
  console.error(`Node 20 or newer is required; this is ${process.versions.node}.`);
  process.exit(1);
}
if (!isInstalled()) install();

const node = nodeBinary();
const child = spawn(node, [join(root, script), ...scriptArguments], {
  cwd: root,
  // The channel closes when this process ends in any way; the child then stops (packages/edge-op/src/dev/serve-development.ts).
  stdio: ["inherit", "inherit", "inherit", "ipc"],
  env: {
    // Wrangler and Miniflare are large: compiled once, a process of theirs starts in two thirds of the time.
    NODE_COMPILE_CACHE: join(root, "node_modules/.cache/compiled"),
    ...process.env,
    PATH: [join(node, ".."), join(root, "node_modules/.bin"), process.env.PATH].join(delimiter),
    WRANGLER_SEND_METRICS: "false",
    WRANGLER_SEND_ERROR_REPORTS: "false",
    WRANGLER_HIDE_BANNER: "true",
    CLOUDFLARE_CF_FETCH_ENABLED: "false",
  },
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
// npm sends SIGTERM only to its shell, which ends; the parent of this process then changes.
const parent = process.ppid;
const watch = setInterval(() => {
  if (process.ppid === parent) return;
  clearInterval(watch);
  child.kill("SIGTERM");
}, 500);
watch.unref();
child.on("exit", (code, signal) => {
  process.exitCode = code ?? (signal === null ? 1 : 128);
});
