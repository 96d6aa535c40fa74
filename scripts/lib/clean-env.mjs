// Plain JavaScript for Node 20: this runs before the first `npm ci`.
import path from 'node:path';

/** What a user may have set on purpose and a nested npm still needs; npm passes it on under the same name. */
const KEPT = new Set([
  'npm_config_registry',
  'npm_config_proxy',
  'npm_config_https_proxy',
  'npm_config_noproxy',
  'npm_config_cafile',
  'npm_config_ca',
  'npm_config_strict_ssl',
  'npm_config_cache',
  'npm_config_userconfig',
  'npm_config_globalconfig',
]);

/** Set by npm (INIT_CWD, NODE) or by an editor's terminal (the rest); each of them misleads a child that we start. */
const DROPPED = /^(?:npm_|INIT_CWD$|NODE$|NODE_OPTIONS$|NODE_ENV$|PORT$|VSCODE_|VITEST|ELECTRON_RUN_AS_NODE$|CODE_SERVER_|PASSWORD$)/i;

/**
 * The environment without what `npm run` and `npx` put there: a nested npm, an editor or the demo cluster
 * then behaves as if a person had started it in a fresh shell.
 * @param {Record<string, string | undefined>} [extra] set on top; undefined removes
 * @returns {Record<string, string>}
 */
export function cleanEnv(extra = {}) {
  const env = {};
  for (const [name, value] of Object.entries(process.env)) {
    const keep = KEPT.has(name.toLowerCase()) || !DROPPED.test(name);
    if (keep && value !== undefined) env[name] = value;
  }
  env.PATH = cleanPath(env.PATH ?? '');
  for (const [name, value] of Object.entries(extra)) {
    if (value === undefined) delete env[name];
    else env[name] = value;
  }
  return env;
}

/** Without `node_modules/.bin` (npm prepends one per parent folder) and npm's own node-gyp shim. */
function cleanPath(value) {
  const foreign = /[\\/](?:node_modules[\\/]\.bin|node-gyp-bin)[\\/]?$/;
  return value
    .split(path.delimiter)
    .filter((entry) => entry !== '' && !foreign.test(entry))
    .join(path.delimiter);
}
