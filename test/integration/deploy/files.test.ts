/** The files of `deploy/`, as the tools read them that a machine has. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';

const place = (name: string): string => fileURLToPath(new URL(`../../../deploy/${name}`, import.meta.url));
const has = (program: string, ...words: readonly string[]): boolean => spawnSync(program, words).status === 0;
const composers: readonly (readonly [string, ...string[]])[] = [['docker', 'compose'], ['docker-compose']];
const composer = composers.find(([program, ...words]) => has(program, ...words, 'version'));

describe.skipIf(composer === undefined)(
  `compose.yaml${composer ? '' : ' (skipped: neither `docker compose` nor `docker-compose` is here)'}`,
  () => {
    const [program = '', ...words] = composer ?? [];
    const config = (env: NodeJS.ProcessEnv = {}) =>
      spawnSync(program, [...words, '-f', place('compose.yaml'), '--profile', 'admin', 'config'], {
        encoding: 'utf8',
        env: { ...process.env, ...env },
      });
    let asItIs = '';
    beforeAll(() => {
      asItIs = config().stdout;
    });
    const serviceOf = (text: string, name: string): string =>
      new RegExp(`^  ${name}:\\n((?:    ?.*\\n)+?)(?=^  \\w|^\\w)`, 'm').exec(
        `${/^services:\n([\s\S]*)/m.exec(text)?.[1] ?? ''}end:\n`,
      )?.[1] ?? '';

    it('is taken as it is', () => expect(config()).toMatchObject({ status: 0, stderr: '' }));

    it.each(['tools', 'admin', 'page', 'valkey'])(
      '%s: no root, nothing to write to, no capability, no more of them, logs that end',
      (name) => {
        const service = serviceOf(asItIs, name);
        expect(service).toMatch(/user: "?1000[1-3]:1000[1-3]/);
        expect(service).toContain('read_only: true');
        expect(service).toMatch(/cap_drop:\n\s*- ALL/);
        expect(service).toMatch(/security_opt:\n\s*- no-new-privileges:true/);
        expect(service).toMatch(/max-file: ["']5["']/);
        expect(service).toMatch(/max-size: ["']?50m/);
        expect(service).toContain('pids_limit:');
        expect(service).toContain('mem_limit:');
        // Nothing is reachable through the machine itself.
        expect(service).not.toContain('ports:');
        expect(service).not.toMatch(/privileged|network_mode|docker\.sock|cap_add/);
      },
    );

    it('has the store on a network of its own, which agents do not share', () => {
      const text = asItIs;
      expect(serviceOf(text, 'valkey')).not.toMatch(/agents:|outside:/);
      expect(serviceOf(text, 'admin')).not.toMatch(/agents:|outside:/);
      expect(serviceOf(text, 'tools')).toMatch(/agents:[\s\S]*inside:[\s\S]*outside:/);
      expect(text.match(/internal: true/g)).toHaveLength(2);
    });

    it('has the page on an address of its own, which neither agents nor the tools share', () => {
      expect(serviceOf(asItIs, 'page')).toMatch(/inside:[\s\S]*people:/);
      expect(serviceOf(asItIs, 'page')).not.toMatch(/agents:|outside:/);
      for (const name of ['tools', 'admin', 'valkey']) expect(serviceOf(asItIs, name)).not.toContain('people:');
    });

    it('takes another store from the environment', () => {
      expect(config({ BANKSMAN_STORE: 'valkeys://vault.lan:6379/0?prefix=team' }).stdout).toContain(
        'valkeys://vault.lan:6379/0?prefix=team',
      );
    });
  },
);

describe('the image', () => {
  it('is built in two stages, and its last one runs as nobody who is root, by number', () => {
    const stages = readFileSync(place('Dockerfile'), 'utf8')
      .split(/^FROM /m)
      .slice(1);
    expect(stages).toHaveLength(2);
    const last = stages[1] ?? '';
    expect(last).toMatch(/^USER 10001:10001$/m);
    expect(last.lastIndexOf('USER ')).toBeLessThan(last.indexOf('ENTRYPOINT'));
    expect(last).toMatch(/^HEALTHCHECK .* CMD \[/m);
    // What a secret could come in by.
    expect(stages.join('')).not.toMatch(/^(?:ARG|ADD|COPY .*private)/m);
  });

  it('is not made from secrets', () => {
    expect(readFileSync(place('Dockerfile.dockerignore'), 'utf8')).toMatch(/^deploy\/private$/m);
    expect(readFileSync(place('../.gitignore'), 'utf8')).toMatch(/^\/?deploy\/private\/?$/m);
  });
});

describe('prepare.sh', () => {
  it.skipIf(!has('shellcheck', '--version'))('has nothing that shellcheck finds (skipped where it is missing)', () => {
    expect(spawnSync('shellcheck', [place('prepare.sh')], { encoding: 'utf8' })).toMatchObject({ status: 0, stdout: '' });
  });

  it('makes no new passwords over old ones, and nothing for who is not root', () => {
    const { status, stderr } = spawnSync(place('prepare.sh'), [fileURLToPath(new URL('.', import.meta.url))], { encoding: 'utf8' });
    expect(status).toBe(1);
    expect(stderr).toMatch(process.getuid?.() === 0 ? /is there already/ : /as root/);
  });
});
