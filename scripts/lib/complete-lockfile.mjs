// Plain JavaScript for Node 20: `node scripts/lib/complete-lockfile.mjs` after an `npm install` that changed packages.
//
// Packages with native parts list one optional package per platform. Where the registry (a mirror, a company's
// proxy) lacks some of them, `npm install` leaves those out of package-lock.json, and then `npm ci` refuses
// the whole lockfile on every machine. This adds them, with the platform that their name says; npm installs only its own.
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { ROOT } from './cache-folder.mjs';
import { say } from './run-command.mjs';

const SYSTEMS = ['aix', 'android', 'darwin', 'freebsd', 'linux', 'netbsd', 'openbsd', 'openharmony', 'sunos', 'win32'];
const PROCESSORS = ['arm', 'arm64', 'ia32', 'loong64', 'mips64el', 'ppc64', 'riscv64', 's390x', 'x64'];
const EXACT = /^\d+\.\d+\.\d+(?:-[\w.]+)?$/;

const file = path.join(ROOT, 'package-lock.json');
const lock = JSON.parse(readFileSync(file, 'utf8'));
const added = missingPackages(lock.packages);
const packages = { ...lock.packages, ...Object.fromEntries(added) };
lock.packages = Object.fromEntries(Object.entries(packages).sort(([a], [b]) => a.localeCompare(b, 'en')));
if (added.length > 0) writeFileSync(file, `${JSON.stringify(lock, undefined, 2)}\n`);
say(`package-lock.json: ${added.length} optional packages of other platforms added`);

function missingPackages(known) {
  return Object.entries(known).flatMap(([place, item]) =>
    Object.entries(item.optionalDependencies ?? {})
      .filter(([name, version]) => EXACT.test(version) && !isKnown(known, place, name))
      .map(([name, version]) => [`node_modules/${name}`, platformEntry({ name, version, dev: item.dev })])
      .filter(([, entry]) => entry.os !== undefined),
  );
}

/** Node's own search: beside the package that asks, then in each folder above it. */
function isKnown(known, place, name) {
  for (let base = place; ; base = base.slice(0, Math.max(0, base.lastIndexOf('/node_modules/')))) {
    if (known[`${base === '' ? '' : `${base}/`}node_modules/${name}`]) return true;
    if (base === '') return false;
  }
}

function platformEntry({ name, version, dev }) {
  const words = name.split(/[^a-z0-9]+/);
  const system = SYSTEMS.find((word) => words.includes(word));
  const processor = PROCESSORS.find((word) => words.includes(word));
  return {
    version,
    ...(processor ? { cpu: [processor] } : {}),
    ...(dev ? { dev } : {}),
    optional: true,
    ...(system ? { os: [system] } : {}),
  };
}
