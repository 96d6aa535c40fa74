/** Frameworks and bundlers of the web: builds and tasks run, servers ask. */
import type { ToolRule } from '../tool-rule.ts';
import { words } from '../words.ts';
import { inspects, servers, watches } from './endless.ts';

export const frameworkRules: readonly ToolRule[] = [
  {
    id: 'workspace.framework',
    takesAnyVerb: true,
    programs: words('rails flask django-admin'),
    paths: 'write',
    cautions: [inspects],
    verbs: [
      {
        verbs: words('server s run runserver serve server:start testserver'),
        concern: 'never_ends',
        message: 'a server that runs until it is stopped',
      },
      {
        verbs: words('runner r console c dbconsole db shell dbshell'),
        concern: 'runs_other_code',
        message: 'runs code of the command line, or waits for a person',
      },
      { verbs: words('new install'), concern: 'network_blocked', message: 'needs the network' },
    ],
    justification: "runs the project's own tasks, which the sandbox holds",
    match: ['rails test', 'rails db:migrate RAILS_ENV=test', 'flask routes', 'django-admin check'],
    notMatch: ['rails server', 'rails s', "rails runner 'x'", 'flask run', 'rails console', 'django-admin runserver'],
  },
  {
    id: 'workspace.symfony',
    takesAnyVerb: true,
    programs: ['symfony'],
    paths: 'write',
    cautions: [inspects],
    verbs: [
      { verbs: words('serve server:start local:server:start server:log'), concern: 'never_ends', message: 'a server' },
      { verbs: words('run php local:run'), concern: 'runs_other_code', message: 'runs code of the command line' },
      {
        verbs: words('new local:new login cloud:deploy deploy local:php:list composer self:update check:security security:check'),
        concern: 'network_blocked',
        message: 'needs the network',
      },
    ],
    justification: "runs the project's own tasks, which the sandbox holds",
    match: ['symfony console lint:yaml config', 'symfony console cache:clear'],
    notMatch: ['symfony serve', 'symfony new x', 'symfony run curl x'],
  },
  {
    id: 'workspace.bundler',
    takesAnyVerb: true,
    programs: [
      'next',
      'nuxt',
      'astro',
      'remix',
      'gatsby',
      'ng',
      'nx',
      'turbo',
      'lerna',
      'rush',
      'moon',
      'lage',
      'expo',
      'svelte-kit',
      'vue-cli-service',
      'react-scripts',
      'storybook',
      'docusaurus',
      'eleventy',
      'rsbuild',
      'rspack',
      'farm',
    ],
    paths: 'write',
    cautions: [watches, inspects],
    verbs: [
      servers,
      { verbs: [undefined], concern: 'never_ends', message: 'a server that runs until it is stopped' },
      {
        verbs: words('add update publish release migrate connect login deploy install telemetry import-map'),
        concern: 'network_blocked',
        message: 'needs the network',
      },
    ],
    justification: 'builds the project',
    match: ['next build', 'turbo run test', 'ng test', 'nx build app'],
    notMatch: ['next dev', 'ng serve', 'astro preview', 'lerna publish', 'nx release'],
  },
  {
    id: 'workspace.serving-bundler',
    programs: ['vite', 'parcel'],
    paths: 'write',
    valueOptions: ['--mode', '-m', '--config', '-c', '--base', '--log-level', '-l'],
    cautions: [watches, inspects],
    verbs: [
      { verbs: words('build optimize help --help --version -v') },
      // A directory or a page is one to be served, and so is nothing.
      { verbs: [undefined], concern: 'never_ends', message: 'a server that runs until it is stopped' },
    ],
    justification: 'builds the project',
    match: ['npx vite build', 'npx vite build --mode staging', 'npx parcel build index.html'],
    notMatch: ['npx vite', 'npx vite .', 'npx vite --host', 'npx parcel index.html', 'npx vite build --watch', 'npx vite preview'],
  },
];
