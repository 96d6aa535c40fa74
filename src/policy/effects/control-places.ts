/**
 * Files that make another program run or obey something later, outside every sandbox: one table for all agents, editors and tools. A change of
 * one is a person's decision. A row's places hold at any depth; `/**` is the directory with all that is in it, `*` any part of one name.
 */
import type { Segments } from '#kernel/ports/path-facts';
import { splitNames } from '#kernel/text/text';
import { foldName } from '../paths/secret-files.ts';

export interface ControlRow {
  readonly id: string;
  /** Who obeys it. */
  readonly who: string;
  readonly places: readonly string[];
  /** Where the program's own documents say so. */
  readonly source: string;
  /** Examples, with blanks between. */
  readonly match: string;
  readonly notMatch: string;
}

export const controlRows: readonly ControlRow[] = [
  {
    id: 'agents.copilot',
    who: 'GitHub Copilot runs or obeys it',
    places: splitNames(`.github/copilot/** .github/hooks/** .github/agents/** .github/copilot-instructions.md .github/instructions/**
      .copilot/**`),
    source: 'https://docs.github.com/en/copilot/how-tos/configure-custom-instructions',
    match: `.github/copilot/settings.json .github/hooks/x.json sub/.github/agents/a.md .github/copilot-instructions.md
      .copilot/hooks/x.json`,
    notMatch: '.github/ISSUE_TEMPLATE/bug.md copilot/settings.json',
  },
  {
    id: 'agents.claude',
    who: 'Claude Code runs or obeys it',
    places: ['.claude/**', '.claude-plugin/**', '.claude.json', '.mcp.json', 'CLAUDE.local.md'],
    source: 'https://docs.anthropic.com/en/docs/claude-code/settings',
    match: '.claude/settings.json packages/a/.claude/hooks/x.sh .mcp.json .claude-plugin/plugin.json',
    notMatch: 'src/claude/settings.json mcp.json CLAUDE.md',
  },
  {
    id: 'agents.others',
    who: 'an agent runs or obeys it',
    places: splitNames(`.codex/** .gemini/** .qwen/** .continue/** .kiro/** .opencode/** .roo/** .clinerules/** .cline/** .kilocode/**
      .factory/** .amp/** .agents/** .augment/** .aider.conf.yml .goosehints .junie/** .trae/** opencode.json opencode.jsonc
      .roomodes .kilocodemodes .windsurfrules .cursorrules .rules .amazonq/** .continuerc.json .crush/** crush.json .crush.json
      .goose/** .codebuddy/** .iflow/** .qoder/** .lingma/** .tabnine/** .zencoder/** .rovodev/** .openhands/** .agent/** .aiassistant/**
      .vibe/** .grok/** .pi/** .serena/** .sourcegraph/** .gitlab/duo/** firebender.json`),
    source:
      'https://opencode.ai/docs/config, https://docs.cline.bot/features/cline-rules, https://qwenlm.github.io/qwen-code-docs, https://docs.factory.ai, https://docs.continue.dev, https://github.com/charmbracelet/crush, https://docs.aws.amazon.com/amazonq, https://www.codebuddy.ai/docs/cli/settings, https://docs.all-hands.dev/usage/prompting/repository, https://antigravity.google/docs/rules-workflows, https://docs.qoder.com',
    match: `.codebuddy/settings.json .iflow/settings.json .qoder/rules/a.md .lingma/rules/a.md .tabnine/mcp_servers.json .zencoder/rules/a.md
      .rovodev/config.yml .openhands/setup.sh .agent/workflows/x.md .aiassistant/rules/x.md .vibe/config.toml .grok/settings.json
      .pi/settings.json .serena/project.yml .sourcegraph/cody.json .gitlab/duo/mcp.json firebender.json .qwen/settings.json opencode.json .clinerules/x.md .clinerules .kilocode/mcp.json .factory/hooks
      .amp/settings.json .agents/x .amazonq/mcp.json .continuerc.json crush.json .crush.json .goose/config.yaml`,
    notMatch: 'src/agents/x.ts config/opencode.ts rules AGENTS.md sub/AGENTS.md src/agent/x.ts .gitlab/issue_templates/bug.md',
  },
  {
    id: 'editors',
    who: 'an editor runs or obeys it',
    places: splitNames(`.vscode/** .vscode-*/** .vscodium/** .vscodium-*/** .cursor/** .cursor-*/** .windsurf/** .windsurf-*/** .idea/**
      .fleet/** .zed/** .devcontainer/** .devcontainer.json *.code-workspace .emacs.d/** .vim/** .vimrc .exrc .nvimrc .nvim.lua
      .emacs .dir-locals.el .dir-locals-2.el .helix/** .theia/** *.run.xml *.sublime-project .vs/** .nova/** .lapce/** .gitpod.yml .replit
      .idx/** .codesandbox/** .stackblitzrc`),
    source:
      'https://code.visualstudio.com/docs/editor/workspace-trust, https://containers.dev/implementors/spec, https://www.gitpod.io/docs/configure/workspaces/tasks',
    match: `.vscode/tasks.json a/.idea/runConfigurations/x.xml x.code-workspace .devcontainer/devcontainer.json
      .vscode-server/data/Machine/settings.json .helix/languages.toml .run/test.run.xml x.sublime-project .dir-locals-2.el
      .vs/launch.vs.json .nova/Configuration.json .lapce/run.toml .gitpod.yml .replit .idx/dev.nix .codesandbox/tasks.json .stackblitzrc`,
    notMatch: 'src/vscode/tasks.json code-workspace.md .editorconfig src/vs/launch.json',
  },
  {
    id: 'git.hooks',
    who: 'git runs hooks',
    places: splitNames(`.husky/** lefthook.yml lefthook.yaml .lefthook.yml lefthook.toml lefthook-local.yml lefthook.json .lefthook.yaml
      .lefthook.toml .lefthook-local.yml .lefthook/** .simple-git-hooks.json simple-git-hooks.json .pre-commit-config.yaml
      .overcommit.yml`),
    source: 'https://git-scm.com/docs/githooks, https://lefthook.dev/configuration, https://pre-commit.com',
    match: `.husky/pre-commit lefthook.yml .pre-commit-config.yaml .lefthook/pre-commit/x.sh simple-git-hooks.json
      .lefthook-local.yml`,
    notMatch: 'lefthook.txt husky/x',
  },
  {
    id: 'git.files',
    who: 'git obeys it',
    places: ['.gitmodules', '.gitconfig', '.lfsconfig'],
    source: 'https://git-scm.com/docs/gitmodules',
    match: '.gitmodules .lfsconfig',
    notMatch: '.gitignore .gitattributes',
  },
  {
    id: 'ci',
    who: 'the forge runs it with its own rights',
    places: splitNames(`.github/workflows/** .github/actions/** .gitlab-ci.yml .circleci/** .forgejo/workflows/** .gitea/workflows/**
      azure-pipelines.yml azure-pipelines.yaml bitbucket-pipelines.yml .travis.yml .drone.yml .woodpecker.yml .woodpecker.yaml
      .woodpecker/** .buildkite/** .cirrus.yml appveyor.yml .appveyor.yml .semaphore/** Jenkinsfile
      .gitlab/ci/** .azure-pipelines/** .teamcity/** .tekton/** .builds/** .build.yml .zuul.yaml .zuul.d/** .prow.yaml .harness/** .vela.yml
      buildspec.yml cloudbuild.yaml codemagic.yaml bitrise.yml wercker.yml screwdriver.yaml .packit.yaml`),
    source:
      'https://docs.github.com/en/actions/reference/workflow-syntax-for-github-actions, https://docs.gitlab.com/ci/yaml, https://man.sr.ht/builds.sr.ht, https://pipelinesascode.com/docs',
    match: `.github/workflows/ci.yml .gitlab-ci.yml .circleci/config.yml .travis.yml .woodpecker/x.yml .buildkite/hooks/x
      Jenkinsfile .gitlab/ci/build.yml .azure-pipelines/a.yml .teamcity/settings.kts .tekton/push.yaml .builds/debian.yml .build.yml .zuul.yaml
      .zuul.d/jobs.yaml .prow.yaml .harness/pipeline.yaml .vela.yml buildspec.yml cloudbuild.yaml codemagic.yaml bitrise.yml wercker.yml
      screwdriver.yaml .packit.yaml`,
    notMatch: '.github/dependabot.yml workflows/ci.yml',
  },
  {
    id: 'environments',
    who: 'a shell runs or obeys it when it comes into the directory',
    places: splitNames(`.envrc .direnv/** .tool-versions .mise.toml mise.toml .mise.local.toml mise.local.toml mise/config.toml .rtx.toml
      .mise/** .config/mise/** .autoenv .autoenv.zsh`),
    source: 'https://direnv.net, https://mise.jdx.dev/configuration.html',
    match: '.envrc sub/mise.toml .mise.toml .tool-versions mise/config.toml',
    notMatch: '.env.example premise.toml',
  },
  {
    id: 'packages',
    who: 'a package manager runs or obeys it',
    places: splitNames(`.npmrc .yarnrc .yarnrc.yml .yarn/** .pnpmfile.cjs .pnpmfile.mjs .pnp.cjs .pnp.loader.mjs .cargo/** bunfig.toml
      pip.conf pip.ini .pypirc .condarc .gemrc .bundle/** nuget.config .mvn/extensions.xml .mvn/jvm.config .mvn/maven.config`),
    source: 'https://docs.npmjs.com/cli/configuring-npm/npmrc, https://doc.rust-lang.org/cargo/reference/config.html',
    match: '.npmrc crates/a/.cargo/config.toml .pnpmfile.cjs .bundle/config NuGet.Config .mvn/extensions.xml .condarc',
    notMatch: 'package.json Cargo.toml .mvn/wrapper/maven-wrapper.properties Gemfile',
  },
  {
    id: 'interpreters',
    who: 'every start of the interpreter runs it',
    places: ['sitecustomize.py', 'usercustomize.py', '*.pth', '.pdbrc', '.irbrc', '.pryrc', '.rprofile', '.renviron'],
    source: 'https://docs.python.org/3/library/site.html',
    match: 'lib/site-packages/x.pth sitecustomize.py .Renviron',
    notMatch: 'path.py models/weights.pt tests/conftest.py',
  },
  {
    id: 'shells',
    who: 'a shell or a program runs it when it starts',
    places: splitNames(`.bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zprofile .zshenv .zlogin .zlogout
      .login .cshrc .tcshrc .pam_environment .xinitrc .xprofile .xsession .xsessionrc .oh-my-zsh/** .ripgreprc .lesskey .inputrc
      .tmux.conf .screenrc .gdbinit .lldbinit .psqlrc .sqliterc .curlrc .wgetrc .mailcap .netrc`),
    source: 'https://www.gnu.org/software/bash/manual/bash.html#Bash-Startup-Files',
    match: '.bashrc home/.profile .gdbinit .oh-my-zsh/custom/x.zsh',
    notMatch: 'bashrc.md profile',
  },
  {
    id: 'homes',
    who: 'it configures programs or holds their keys, where a home lies in the workspace',
    places: [
      ...splitNames(`.ssh/** .gnupg/** .aws/** .kube/** .docker/** .config/** .local/bin/** .local/state/banksman/**
      .local/share/applications/** .local/share/code-server/** .local/share/systemd/** Library/LaunchAgents/** .gradle/init.gradle
      .gradle/init.d/** AppData/Roaming/**`),
      'Library/Application Support/**',
    ],
    source: 'https://specifications.freedesktop.org/basedir-spec/latest',
    match: '.ssh/authorized_keys me/.config/systemd/user/x.service .local/bin/git .gradle/init.d/x.gradle',
    notMatch: 'src/config/x.ts .local/share/notes.txt .gradle/8.5/fileHashes/x',
  },
  {
    id: 'repositories',
    who: 'it is a repository of its own, or the inside of one',
    places: ['.hg/**', '.svn/**', '.jj/**', 'git~1/**'],
    source: 'https://www.mercurial-scm.org/help/topics/config',
    match: '.hg/hgrc .svn/entries',
    notMatch: 'hg/hgrc',
  },
];

/** Whether what is written there runs later, or is obeyed. */
export function isControlPath(segments: Segments): boolean {
  return segments.some((segment) => foldName(segment) === '.git') || controlRowOf(segments) !== undefined;
}

interface Pattern {
  readonly row: ControlRow;
  /** Folded names, each literal or with `*`. */
  readonly parts: readonly string[];
  readonly withInside: boolean;
}

const byFirstName = new Map<string, Pattern[]>();
/** Begin with a name that has a `*`. */
const loose: Pattern[] = [];

for (const row of controlRows) for (const place of row.places) addPattern(row, place);

function addPattern(row: ControlRow, place: string): void {
  const withInside = place.endsWith('/**');
  const parts = (withInside ? place.slice(0, -3) : place).toLowerCase().split('/');
  const [first = ''] = parts;
  const pattern = { row, parts, withInside };
  if (first.includes('*')) loose.push(pattern);
  else byFirstName.set(first, [...(byFirstName.get(first) ?? []), pattern]);
}

/** The row that names the place; undefined: nobody obeys what is there. */
export function controlRowOf(segments: Segments): ControlRow | undefined {
  const folded = segments.map(foldName);
  for (const [start, name] of folded.entries()) {
    const candidates = [...(byFirstName.get(name) ?? []), ...loose];
    const found = candidates.find((pattern) => isAt(pattern, folded, start));
    if (found !== undefined) return found.row;
  }
  return undefined;
}

function isAt({ parts, withInside }: Pattern, folded: Segments, start: number): boolean {
  const length = folded.length - start;
  if (withInside ? length < parts.length : length !== parts.length) return false;
  return parts.every((part, index) => isNamed(folded[start + index] ?? '', part));
}

/** At most one `*`. */
function isNamed(name: string, part: string): boolean {
  const star = part.indexOf('*');
  if (star < 0) return name === part;
  return name.length >= part.length && name.startsWith(part.slice(0, star)) && name.endsWith(part.slice(star + 1));
}
