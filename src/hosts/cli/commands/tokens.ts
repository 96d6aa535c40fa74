/** `banksman tokens list|create|revoke`: which MCP clients may connect over HTTP. */

import { osUser } from '#app/config/paths';
import { createMcpToken, listMcpTokens, type McpToken, revokeMcpToken } from '#app/people/mcp-tokens';
import { Fault } from '#kernel/errors';
import { type ModelTier, modelTiers } from '#kernel/tiers';
import { badUsage, type CommandOptions, noSuchVerb, operands } from '../command-line.ts';
import { printError, printJson, printText } from '../output.ts';
import { stateDirOf } from '../session.ts';

const dayMs = 86_400_000;
const unitMs: Readonly<Record<string, number>> = { h: 3_600_000, d: dayMs };

export async function runTokens([verb, ...words]: readonly string[], options: CommandOptions): Promise<number> {
  if (verb === 'list') return list(words, options);
  if (verb === 'create') return create(words, options);
  if (verb === 'revoke') return revoke(words, options);
  throw noSuchVerb('tokens', ['list', 'create', 'revoke'], verb);
}

async function list(words: readonly string[], options: CommandOptions): Promise<number> {
  operands(words, []);
  const { tokens, unreadable } = await listMcpTokens(stateDirOf(options));
  if (options.json) printJson(tokens);
  else for (const token of tokens) printText(line(token));
  if (tokens.length === 0) printError('there are no tokens: `banksman tokens create NAME` makes one');
  for (const file of unreadable) printError(`${file} is no token; it lets nobody in`);
  return 0;
}

async function create(words: readonly string[], options: CommandOptions): Promise<number> {
  const [name = ''] = operands(words, ['NAME']);
  if (name === osUser().username) {
    // Grants are bound to the agent: the same id over both ways would let one client use what was granted to the other.
    throw new Fault('bad_token_name', `\`mcp:${name}\` is already the agent over stdio; choose another name`, { audience: 'user' });
  }
  const { token, entry } = await createMcpToken(stateDirOf(options), {
    name,
    modelTier: tierOf(options.tier),
    lifeMs: lifeOf(options.expires),
  });
  if (options.json) printJson({ ...entry, token });
  else printText(token);
  printError(`token \`${entry.name}\`, model tier ${entry.modelTier}, ${expiry(entry)}; it is shown this once and stored hashed`);
  return 0;
}

async function revoke(words: readonly string[], options: CommandOptions): Promise<number> {
  const [name = ''] = operands(words, ['NAME']);
  if (!(await revokeMcpToken(stateDirOf(options), name))) {
    throw new Fault('no_such_token', `no token is named \`${name}\``, { audience: 'user', next: 'see `banksman tokens list`' });
  }
  if (options.json) printJson({ name, revoked: true });
  else printText(`revoked ${name}`);
  return 0;
}

function tierOf(named: string | undefined): ModelTier {
  const tier = modelTiers.find((known) => known === (named ?? 'intermediate'));
  if (tier === undefined) throw badUsage(`\`--tier\` must be one of ${modelTiers.join(', ')}, not \`${named}\``);
  return tier;
}

/** In ms; null for `never`. Ninety days where nothing is said. */
function lifeOf(named: string | undefined): number | null {
  if (named === 'never') return null;
  const parts = /^(\d{1,5})([hd])$/.exec(named ?? '90d');
  const life = Number(parts?.[1] ?? 0) * (unitMs[parts?.[2] ?? ''] ?? 0);
  if (life <= 0) throw badUsage(`\`--expires\` must be a number of hours or days such as 12h or 90d, or \`never\`, not \`${named}\``);
  return life;
}

function expiry({ expiresAt }: McpToken): string {
  if (expiresAt === null) return 'never expires';
  return Date.parse(expiresAt) > Date.now() ? `expires ${expiresAt}` : `EXPIRED ${expiresAt}`;
}

function line(token: McpToken): string {
  return `${token.name.padEnd(24)} ${token.modelTier.padEnd(12)} made ${token.createdAt}  ${expiry(token)}`;
}
