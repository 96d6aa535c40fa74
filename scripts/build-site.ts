/** `npm run site`: the documents as a static site in `out/site`, which opens from there as well (`out/site/index.html`). */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { makeSite } from './docs/site.ts';

const root = path.join(import.meta.dirname, '..');
const folder = path.join(root, 'out/site');
const site = makeSite(root);
rmSync(folder, { recursive: true, force: true });
for (const [file, content] of site) {
  const place = path.join(folder, file);
  mkdirSync(path.dirname(place), { recursive: true });
  writeFileSync(place, content);
}
console.log(`${site.size} files: ${path.join(folder, 'index.html')}`);
