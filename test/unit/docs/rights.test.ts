import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { rightsGroups } from '#tools/cluster/whole-cluster';

it('the page of rights has the privileges that the tools look for', () => {
  const page = readFileSync(path.join(import.meta.dirname, '../../../docs/rights.md'), 'utf8');
  const [, table = ''] = /<!-- groups:begin -->\n([\s\S]*?)<!-- groups:end -->/.exec(page) ?? [];
  const rows = table
    .trim()
    .split('\n')
    .slice(2)
    .map((line) => line.split('|').map((cell) => cell.trim()));
  const written = rows.map(([, group, tools, privileges]) => ({
    group,
    tools: tools?.replaceAll('`', ''),
    privileges: privileges?.replaceAll('`', ''),
  }));
  expect(written).toEqual(
    rightsGroups.map(({ group, tools, needs }) => ({
      group,
      tools: tools.join(', '),
      privileges: needs.map(({ privilege }) => privilege).join(','),
    })),
  );
});
