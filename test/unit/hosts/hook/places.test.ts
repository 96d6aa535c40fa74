import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { onStampChange, stampOf } from '#hosts/hook/places';

it('tells of a configuration that is written, changed or taken away, once each time', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'hook-places-'));
  const config = path.join(folder, 'config.json');
  let changes = 0;
  const look = onStampChange(
    () => stampOf({ config }),
    () => {
      changes += 1;
    },
  );
  try {
    const seen = [
      () => undefined,
      () => writeFileSync(config, '{}'),
      () => writeFileSync(config, '{"hooks":{}}'),
      () => rmSync(config),
    ].map((act) => {
      act();
      look();
      look();
      return changes;
    });
    expect(seen).toEqual([0, 1, 2, 3]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
