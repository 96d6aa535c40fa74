import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createEnrolDesk, openEnrolment } from '#app/people/enrolments';
import { pageOrigin, softwareKey } from '../../approval/software-key.ts';
import { temporaryFolder } from '../../stores/store-fixtures.ts';

const offer = { name: 'alice-phone', person: 'alice', display: 'outside', origin: pageOrigin, known: [] } as const;
const soon = () => AbortSignal.timeout(10_000);

async function bench(changes: Partial<Parameters<typeof openEnrolment>[1]> = {}) {
  const state = temporaryFolder();
  const enrolment = await openEnrolment(state, { ...offer, ...changes });
  const files = () => readdirSync(join(state, 'enrolments'));
  const change = (values: object) => {
    const file = join(state, 'enrolments', files()[0] ?? '');
    writeFileSync(file, JSON.stringify({ ...(JSON.parse(readFileSync(file, 'utf8')) as object), ...values }));
  };
  const desk = createEnrolDesk(state, pageOrigin);
  const begin = async () => {
    const begun = await desk.beginEnrol(enrolment.link);
    if (!begun.ok) throw new Error(begun.message);
    return begun;
  };
  return { state, enrolment, desk, begin, files, change };
}

describe('a link', () => {
  it('makes one passkey, whose fingerprint both sides show', async () => {
    const { enrolment, desk, begin } = await bench();
    const key = softwareKey();
    const begun = await begin();
    expect(begun).toMatchObject({ name: 'alice-phone', person: 'alice', display: 'outside', expiresAt: enrolment.expiresAt });
    expect(begun.options).toMatchObject({
      rp: { id: 'banksman.lan' },
      authenticatorSelection: { userVerification: 'required' },
      attestation: 'none',
    });
    const shown = await desk.finishEnrol(enrolment.link, key.create(begun.options.challenge), 'p256:device');
    expect(shown).toEqual({ ok: true, name: 'alice-phone', fingerprint: key.fingerprint });
    const pin = await enrolment.answer(soon());
    expect(pin).toMatchObject({
      name: 'alice-phone',
      person: 'alice',
      key: key.pin.key,
      passkey: { id: key.pin.passkey?.id, display: 'outside', device: 'p256:device' },
    });
  });

  it('is worth nothing twice, by whomever', async () => {
    const { enrolment, desk, begin } = await bench();
    const [first, second] = [softwareKey(), softwareKey()];
    // Another service knows nothing of it.
    const other = createEnrolDesk(temporaryFolder(), pageOrigin);
    const begun = await begin();
    expect(await desk.finishEnrol(enrolment.link, first.create(begun.options.challenge))).toMatchObject({ ok: true });
    expect(await desk.beginEnrol(enrolment.link)).toMatchObject({ ok: false, code: 'link_used' });
    expect(await desk.finishEnrol(enrolment.link, second.create(begun.options.challenge))).toMatchObject({ ok: false, code: 'link_used' });
    expect(await other.beginEnrol(enrolment.link)).toMatchObject({ ok: false, code: 'no_link' });
    expect(await enrolment.answer(soon())).toMatchObject({ key: first.pin.key });
  });

  it('answered by two processes at once takes one', async () => {
    const { state, enrolment } = await bench();
    const answers = await Promise.all(
      [softwareKey(), softwareKey()].map(async (key) => {
        const desk = createEnrolDesk(state, pageOrigin);
        const begun = await desk.beginEnrol(enrolment.link);
        return begun.ok ? desk.finishEnrol(enrolment.link, key.create(begun.options.challenge)) : begun;
      }),
    );
    expect(answers.map((answer) => (answer.ok ? 'made' : answer.code)).sort()).toEqual(['link_used', 'made']);
  });

  it('is over after ten minutes, and once who made it has gone', async () => {
    const { enrolment, desk, change } = await bench();
    change({ expiresAt: Date.now() - 1 });
    expect(await desk.beginEnrol(enrolment.link)).toMatchObject({ ok: false, code: 'link_expired' });
    await enrolment.close();
    expect(await desk.beginEnrol(enrolment.link)).toMatchObject({ ok: false, code: 'no_link' });
  });

  it('lies nowhere on the disk, and opens nothing but what it was made for', async () => {
    const { state, enrolment, desk, files } = await bench();
    const [file = ''] = files();
    expect(file).not.toContain(enrolment.link);
    expect(readFileSync(join(state, 'enrolments', file), 'utf8')).not.toContain(enrolment.link);
    for (const link of ['', '../../etc/passwd', file.replace('.json', ''), `${enrolment.link}A`, 'A'.repeat(43)])
      expect(await desk.beginEnrol(link)).toMatchObject({ ok: false, code: 'no_link' });
    expect(await createEnrolDesk(state, 'http://localhost:779').beginEnrol(enrolment.link)).toMatchObject({ ok: false, code: 'no_link' });
  });

  it.each([
    ['another challenge', () => ['YW5vdGhlcg', {}] as const],
    ['another page', (challenge: string) => [challenge, { origin: 'https://evil.example' }] as const],
    ['nobody verified', (challenge: string) => [challenge, { flags: 0x41 }] as const],
  ])('takes no passkey of %s, and wants a new challenge then', async (_, twisted) => {
    const { enrolment, desk, begin } = await bench();
    const key = softwareKey();
    const begun = await begin();
    const [challenge, twist] = twisted(begun.options.challenge);
    expect(await desk.finishEnrol(enrolment.link, key.create(challenge, twist))).toMatchObject({ code: 'bad_credential' });
    expect(await desk.finishEnrol(enrolment.link, key.create(begun.options.challenge))).toMatchObject({ code: 'challenge_over' });
    expect(await desk.finishEnrol(enrolment.link, key.create((await begin()).options.challenge))).toMatchObject({ ok: true });
  });

  it('does not take what is enrolled already, nor what is no credential', async () => {
    const key = softwareKey();
    const { enrolment, desk, begin } = await bench({ known: [key.pin.passkey?.id ?? ''] });
    const begun = await begin();
    expect(begun.options.excludeCredentials).toEqual([{ type: 'public-key', id: key.pin.passkey?.id }]);
    expect(await desk.finishEnrol(enrolment.link, key.create(begun.options.challenge))).toMatchObject({ code: 'bad_credential' });
    await begin();
    expect(await desk.finishEnrol(enrolment.link, { id: 7 })).toMatchObject({ code: 'bad_credential' });
  });
});
