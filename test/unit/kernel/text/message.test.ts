import { describe, expect, it } from 'vitest';
import { type RequestRecord, requestRisk, requestTitle } from '#kernel/approval/request';
import { parseRequestDraft } from '#kernel/approval/request-schema';
import {
  asIs,
  asListed,
  durationWords,
  english,
  inWords,
  isMessage,
  joined,
  type Message,
  plainly,
  say,
  timeOfDay,
  wordsOf,
} from '#kernel/text/message';
import { readBundle } from '../../../../scripts/l10n/translations.ts';

const german = { tag: 'de', texts: readBundle() };
const inGerman = (message: Message) => inWords(message, german);

describe('a message', () => {
  it('is English or another language, with the same values', () => {
    const message = say`Target: ${say`${say`VM ${100} `} on ${'pve'}`}, cluster ${'lab'}`;
    expect(english(message)).toBe('Target: VM 100  on pve, cluster lab');
    expect(inGerman(say`Target: ${say`VM ${100}`}, cluster ${'lab'}`)).toBe('Ziel: VM 100, Cluster lab');
  });

  it('puts a value in once: what looks like a place is none', () => {
    expect(english(say`Call: ${'{1}'} ${'secret'}`)).toBe('Call: {1} secret');
    expect(inGerman(say`Call: ${'{1}'} ${'secret'}`)).toBe('Aufruf: {1} secret');
  });

  it('shows plainly what stands in it, in every language', () => {
    const hidden = plainly(say`Note: ${'a\u202eb'}`);
    expect(english(hidden)).toBe('Note: a\\u{202e}b');
    expect(inGerman(hidden)).toBe('Hinweis: a\\u{202e}b');
  });

  it('counts, lists, and tells the time of day in words', () => {
    expect([1_000, 2_000, 60_000, 7_200_000].map((ms) => inGerman(durationWords(ms)))).toEqual([
      '1 Sekunde',
      '2 Sekunden',
      '1 Minute',
      '2 Stunden',
    ]);
    expect(inGerman(joined([say`gateway`, 'x']))).toBe('Gateway, x');
    const now = new Date(2026, 10, 21, 9).getTime();
    const at = new Date(2026, 9, 20, 14, 2, 10).getTime();
    expect(english(timeOfDay(at, now))).toBe('Oct 20, 14:02:10');
    expect(inGerman(timeOfDay(at, now))).toBe('20. Okt., 14:02:10');
  });

  it('lists as many as there are', () => {
    const names = Array.from({ length: 10_001 }, (_, index) => `s${index}`);
    for (const length of [0, 1, 100, 101, 10_000, 10_001]) {
      const message = joined(names.slice(0, length));
      expect(english(message)).toBe(names.slice(0, length).join(', '));
      expect(isMessage(message)).toBe(true);
    }
  });

  it('takes a word that anybody may write for no key of an object', () => {
    expect(inGerman(asListed('constructor'))).toBe('constructor');
    expect(inGerman(asListed('at {0}'))).toBe('at {0}');
  });
});

describe('messages out of a store', () => {
  it('count only where they say in English what is stored', () => {
    expect(inGerman(wordsOf('It can be undone.', say`It can be undone.`))).toBe('Es kann rückgängig gemacht werden.');
    expect(inGerman(wordsOf('It cannot be undone.', say`It can be undone.`))).toBe('It cannot be undone.');
    expect(inGerman(wordsOf('It cannot be undone.', undefined))).toBe('It cannot be undone.');
  });

  it('cannot lend a request another title or fact', () => {
    const record = {
      title: 'Stop VM 100 on pve',
      risk: ['now: running', 'no snapshot to go back to'],
      words: { title: say`Start ${'VM 100'}`, risk: [say`now: running`] },
    } as unknown as RequestRecord;
    expect(inGerman(requestTitle(record))).toBe('Stop VM 100 on pve');
    expect(requestRisk(record).map(inGerman)).toEqual(['jetzt: läuft', 'no snapshot to go back to']);
  });

  it('are messages in every part, or the request is read in English', () => {
    const draft = {
      digest: 'a'.repeat(64),
      action: { tool: 'x', arguments: {}, targets: [], agentId: 'a', cluster: null, policyVersion: 'p' },
      ...{ tier: 'red', impact: 'none', title: 't', risk: [], code: 'c', reason: 'r', agent: { id: 'a', host: 'cli' } },
    };
    const words = (title: unknown) => parseRequestDraft(JSON.stringify({ ...draft, words: { title } }))?.words?.title;
    expect(words(say`Stop ${say`VM ${1}`}`)).toEqual(say`Stop ${say`VM ${1}`}`);
    expect(words(timeOfDay(1, 2))).toEqual(timeOfDay(1, 2));
    let deep: Message = asIs('x');
    for (let level = 0; level < 50; level += 1) deep = say`${deep}`;
    for (const bad of [
      { text: 1 },
      { text: '{0}', values: [{}] },
      { text: '{0}', values: [null] },
      { text: 'x', values: 'y' },
      'x',
      deep,
    ]) {
      expect(isMessage(bad)).toBe(false);
      expect(parseRequestDraft(JSON.stringify({ ...draft, words: { title: bad } }))).toEqual({ ...draft, words: {} });
    }
    expect(parseRequestDraft(JSON.stringify(draft))?.title).toBe('t');
  });

  it('are read without harm, whatever stands in them', () => {
    const odd = { text: 5, by: ', ', all: ['x'] };
    for (const value of [odd, { ...odd, at: 1, now: 2 }]) expect(() => english({ text: '{0}', values: [value as never] })).not.toThrow();
    expect(english(wordsOf('t', { text: 5 } as never))).toBe('t');
    let lists: unknown = 'x';
    for (let level = 0; level < 20_000; level += 1) lists = { by: '', all: [lists] };
    expect(isMessage({ text: '{0}', values: [lists] })).toBe(false);
  });
});
