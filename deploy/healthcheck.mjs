/**
 * Exit 0 where the address answers 200 within four seconds: `healthcheck.mjs URL`, or `healthcheck.mjs page CONFIG` for the page that the configuration
 * names. The image has no curl.
 */
import { readFileSync } from 'node:fs';
import { get } from 'node:https';

const [first = '', file = ''] = process.argv.slice(2);
const signal = AbortSignal.timeout(4000);
try {
  const status = first === 'page' ? await pageStatus(file) : (await fetch(first, { signal })).status;
  process.exitCode = status === 200 ? 0 : 1;
} catch {
  process.exitCode = 1;
}

/** At its own address, under its own name. Whether a certificate is one that browsers trust is not asked here. */
function pageStatus(configFile) {
  const { origin, host } = JSON.parse(readFileSync(configFile, 'utf8')).page;
  const { hostname: servername, port, host: name } = new URL(origin);
  return new Promise((resolve, reject) => {
    const options = { host, port: port || 443, servername, headers: { host: name }, rejectUnauthorized: false, signal };
    get(options, (answer) => resolve(answer.resume().statusCode)).on('error', reject);
  });
}
