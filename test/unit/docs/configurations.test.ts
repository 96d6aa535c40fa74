import { readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { configSchema, parseConfig } from '#app/config/config';
import { type Block, blocksOf, configOf, docs } from '../../../scripts/docs/page-blocks.ts';

/** What the reader fills in: a key, a fingerprint, a password. */
const hasGaps = ({ text }: Block) => text.includes('…');

const blocks = ['../README.md', ...readdirSync(docs).filter((name) => name.endsWith('.md'))]
  .flatMap((page) => blocksOf(page))
  .filter(({ language }) => language === 'json');
const whole = blocks.filter((block) => block.mark?.kind === 'config' || (!hasGaps(block) && isConfig(block)));

it.each(whole.map((block) => [`${block.page}:${block.line}`, block] as const))(
  '%s is a configuration that would be taken',
  (where, block) => {
    expect(() => parseConfig(configOf(block), where)).not.toThrow();
  },
);

it('finds them', () => {
  expect(whole.length).toBeGreaterThan(20);
});

/** Only keys of the configuration at the top; other JSON of the pages (calls, entries of clients) has others. */
function isConfig(block: Block): boolean {
  const keys = Object.keys(configOf(block));
  return keys.every((key) => key in configSchema.shape);
}
