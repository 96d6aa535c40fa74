/** The MCP host: `banksman serve` over HTTP, until stopped, and `banksman mcp` over stdio, until the client closes stdin. */
import { readFile } from 'node:fs/promises';
import { setFlagsFromString } from 'node:v8';
import { hearEditorSettings, ticketVariable } from '#app/clients/editor-settings';
import { tokenFor } from '#app/clusters/bound-token';
import { parseConfig } from '#app/config/config';
import { checkWorkspace } from '#app/config/paths';
import { version } from '#app/for-hosts';
import { listMcpTokens } from '#app/people/mcp-tokens';
import type { ClientFolder } from '#hosts/mcp/client-folder';
import type { CallingApp } from '#kernel/app';
import { reasonOf } from '#kernel/errors';
import { badUsage, type CommandOptions, operands, wholeNumber } from '../command-line.ts';
import { type HeldConfig, type HeldParts, type MoveTo, withFollowedApp } from '../follow-agreement.ts';
import { printError, printJson, stderrLog } from '../output.ts';
import { stateDirOf } from '../session.ts';

const trustsNetwork =
  'without TLS: whoever can listen on this network can read tokens and results, and act with them; it is trusted (--private-network). Peers with a public address are refused';

/**
 * A server lives long and keeps little: without this V8 lets the garbage of thousands of calls lie (300 MB resident after 20,000 reads, 30 MB of
 * them alive), and with its own `--optimize-for-size` a fifth of the time goes into collecting. Both may be set at any time: how far the old
 * generation grows before it is collected, and how far the young one grows.
 */
function boundHeap(): void {
  setFlagsFromString('--heap-growing-percent=40');
  setFlagsFromString('--semi-space-growth-factor=1');
}

export async function runMcp(words: readonly string[], options: CommandOptions): Promise<number> {
  operands(words, []);
  const allTools = options['all-tools'] === true;
  boundHeap();
  const { serveMcpOverStdio } = await import('#hosts/mcp/serve-stdio');
  const link = await editorLink();
  try {
    const work = (app: CallingApp, signal: AbortSignal, moveTo: MoveTo) =>
      serveMcpOverStdio({ app, version, log: stderrLog, allTools, folder: clientFolder(options, app, moveTo), signal });
    await withFollowedApp(options, work, link?.held);
  } finally {
    link?.close();
  }
  return 0;
}

/** Where this was started in no project's folder, and nobody named one. */
function clientFolder({ root }: CommandOptions, { config }: CallingApp, moveTo: MoveTo): ClientFolder {
  let isWanted = root === undefined && config.workspaceRoot === '.' && isNoWorkspace(process.cwd());
  return {
    isWanted: () => isWanted,
    want: (again) => {
      isWanted = again;
    },
    moveTo,
    log: stderrLog,
  };
}

function isNoWorkspace(folder: string): boolean {
  try {
    checkWorkspace(folder);
    return false;
  } catch {
    return true;
  }
}

/** With a window of the editor that starts this server: its settings and tokens count, as they are at the time. */
async function editorLink(): Promise<{ readonly held: HeldConfig; close(): void } | undefined> {
  const ticket = process.env[ticketVariable];
  if (ticket === undefined) return undefined;
  // Good for once, and nobody else's.
  delete process.env[ticketVariable];
  const { now, onChange, close } = await hearEditorSettings(ticket);
  const parts = (): HeldParts => {
    const { settings, tokens } = now();
    const config = parseConfig(settings, 'settings `banksman.*`');
    // SECURITY: what counts may be another place than the settings name, where they wait for somebody to agree.
    const clusterToken: HeldParts['clusterToken'] = async (cluster) => {
      const stored = Object.hasOwn(tokens, cluster.name) ? tokens[cluster.name] : undefined;
      return stored === undefined ? undefined : tokenFor(stored, cluster);
    };
    return { config, origin: 'editor', clusterToken };
  };
  return { held: { parts, onChange }, close };
}

/** The last line on stdout is JSON with the addresses. */
export async function runServe(words: readonly string[], options: CommandOptions): Promise<number> {
  operands(words, []);
  const address = listenAddress('serve', options.http);
  const allowed = { allowedHosts: hostsOf(options), allowedOrigins: originsOf(options) };
  const tls = await tlsOf(options);
  const privateNetwork = options['private-network'] === true;
  if (privateNetwork && tls !== undefined)
    throw badUsage('`--private-network` is for serving without TLS: leave it out, or the certificate');
  const stateDir = stateDirOf(options);
  boundHeap();
  const { serveAppOverHttp } = await import('#hosts/mcp/http/serve-http');
  await withFollowedApp(options, async (app, signal) => {
    const endpoint = await serveAppOverHttp({
      ...address,
      ...(tls === undefined ? {} : { tls }),
      privateNetwork,
      app,
      version,
      stateDir,
      sse: options.sse === true,
      allTools: options['all-tools'] === true,
      ...allowed,
      log: stderrLog,
    });
    try {
      const { origin } = endpoint;
      printJson({
        url: `${origin}${endpoint.mcpPath}`,
        health: `${origin}${endpoint.healthPath}`,
        ...(options.sse === true ? { sse: `${origin}${endpoint.ssePath}` } : {}),
      });
      if (privateNetwork) printError(trustsNetwork);
      await sayWhoMayCome(stateDir);
      await stopped(signal);
    } finally {
      await endpoint.close();
    }
  });
  return 0;
}

/** `HOST:PORT` or `PORT` alone, which means loopback. @throws {Fault} `bad_usage` */
export function listenAddress(command: string, named: string | undefined): { readonly host: string; readonly port: number } {
  const parts = /^(?:(?<host>localhost|[\d.]+|\[[0-9a-f:.]+\]):)?(?<port>\d+)$/i.exec(named ?? '')?.groups;
  if (parts === undefined) {
    throw badUsage(
      `\`${command}\` needs \`--http HOST:PORT\`, HOST being an IP address or \`localhost\`: 127.0.0.1:7331, [::1]:0 (0: any free port)`,
    );
  }
  const host = (parts['host'] ?? '127.0.0.1').replace(/^\[|\]$/g, '');
  return { host, port: wholeNumber(parts['port'] ?? '', 'http', { min: 0, max: 65_535 }) };
}

/** One that no `Host` header can be would be believed to allow something. @throws {Fault} `bad_usage` */
function hostsOf({ 'allow-host': names = [] }: CommandOptions): readonly string[] {
  const wrong = names.find((name) => !/^(?:[a-z0-9.-]{1,253}|\[[0-9a-f:.]{2,45}\])$/i.test(name));
  if (wrong === undefined) return names;
  throw badUsage(`\`--allow-host\` takes a host name or address without scheme and port, such as \`tool.example\`, not \`${wrong}\``);
}

/** Compared as a whole, so there are no wildcards. @throws {Fault} `bad_usage` */
function originsOf({ 'allow-origin': origins = [] }: CommandOptions): readonly string[] {
  const wrong = origins.find((origin) => !URL.canParse(origin) || new URL(origin).origin !== origin);
  if (wrong === undefined) return origins;
  throw badUsage(`\`--allow-origin\` takes one whole web origin, such as \`https://tool.example\`, not \`${wrong}\``);
}

async function tlsOf(options: CommandOptions): Promise<{ readonly cert: Buffer; readonly key: Buffer } | undefined> {
  const { 'tls-cert': cert, 'tls-key': key } = options;
  if (cert === undefined && key === undefined) return undefined;
  if (cert === undefined || key === undefined) throw badUsage('`--tls-cert` and `--tls-key` go together');
  return { cert: await read(cert, 'tls-cert'), key: await read(key, 'tls-key') };
}

async function read(file: string, option: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (thrown) {
    throw badUsage(`\`--${option}\`: ${reasonOf(thrown)}`);
  }
}

async function sayWhoMayCome(stateDir: string): Promise<void> {
  const { tokens, unreadable } = await listMcpTokens(stateDir);
  for (const file of unreadable) printError(`${file} is no token; it lets nobody in`);
  if (tokens.length === 0) printError('nobody can connect yet: make a token with `banksman tokens create NAME`');
}

export async function stopped(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  signal.addEventListener('abort', () => resolve(), { once: true });
  if (signal.aborted) resolve();
  // A signal's listener alone does not keep the process: the server does.
  await promise;
}
