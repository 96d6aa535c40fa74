import { describe, expect, it } from 'vitest';
import { doctorMarkup, doctorSteps } from '#hosts/vscode/first-run/doctor-page';
import type { Finding } from '#kernel/app';

const page = (findings: readonly Finding[]) => doctorMarkup({ findings, isLooking: false });

describe('the page of Doctor', () => {
  it('is green where nothing fails, and counts what could be better', () => {
    const { state } = page([
      { topic: 'store', state: 'ok', message: 'fine' },
      { topic: 'sandbox', state: 'warning', message: 'degraded' },
    ]);
    expect(state).toContain('banner good');
    expect(state).toContain('1 thing could be better.');
  });

  it('says what fails first, each with what to do next', () => {
    const { state, findings } = page([
      { topic: 'runtime', state: 'ok', message: 'fine' },
      { topic: 'sandbox', state: 'warning', message: 'degraded' },
      { topic: 'ssh', state: 'failed', message: 'refused', remedy: 'run `ssh-keyscan`' },
    ]);
    expect(state).toContain('banner bad');
    expect(state).toContain('✘ 1 thing does not work.');
    expect([...findings.matchAll(/<th scope="row">([^<]*)</g)].map((match) => match[1])).toEqual(['ssh', 'sandbox', 'runtime']);
    expect(findings).toContain('<strong>Next:</strong> run <code>ssh-keyscan</code>');
  });

  it.each<[Finding, string | undefined]>([
    [{ topic: 'clusters', state: 'warning', message: 'no cluster is configured' }, 'connect'],
    [{ topic: 'cluster lab', state: 'failed', message: 'token_elsewhere: the settings are others' }, 'token'],
    [{ topic: 'cluster lab', state: 'failed', message: 'pve_unauthorized: not accepted' }, 'token'],
    [{ topic: 'cluster lab endpoint https://a', state: 'failed', message: 'pve_tls_fingerprint: another' }, 'clusters'],
    [{ topic: 'configuration', state: 'failed', message: 'does not count' }, 'agree'],
    [{ topic: 'protected', state: 'warning', message: 'nothing is protected' }, 'protect'],
    [{ topic: 'protected', state: 'ok', message: '4 protected resources' }, undefined],
    [{ topic: 'store', state: 'failed', message: 'full' }, undefined],
  ])('offers the way on: %j', (finding, step) => {
    const { findings } = page([finding]);
    expect(/data-say="do" data-value="([a-z]+)"/.exec(findings)?.[1]).toBe(step);
    expect([...Object.keys(doctorSteps), undefined]).toContain(step);
  });

  it('shows what comes from outside as text', () => {
    const { findings } = page([{ topic: '<b>x</b>', state: 'failed', message: '`<script>` and <i>', remedy: '<img src=x>' }]);
    expect(findings).not.toMatch(/<(?:script|b|i|img)[ >]/);
  });

  it('says why there is nothing to see', () => {
    expect(doctorMarkup({ findings: undefined, isLooking: false, failed: 'bad_config: `clusters`' }).state).toContain('banner bad');
  });
});
