/** Programs that write, move and remove files. */
import { awkFault } from '../awk-program.ts';
import { sedFault } from '../sed-script.ts';
import type { Caution, ToolRule } from '../tool-rule.ts';
import { words } from '../words.ts';
import { runsOrLoads } from './endless.ts';

const absoluteNames: Caution = {
  word: /^(?:-?[AcdtruxvzjJfkphlmoswWZabC]*P[AcdtruxvzjJfkphlmoswWZabC]*|--absolute-names|--absolute-paths|-\w*:\w*)$/,
  concern: 'PATH_OUTSIDE_WORKSPACE',
  message: 'takes absolute names out of the archive',
};

export const writerRules: readonly ToolRule[] = [
  {
    id: 'workspace.write',
    programs: words(
      'touch mkdir cp ln tee xxd iconv dos2unix unix2dos shuf sponge convert magick identify optipng svgo pandoc ffmpeg gettext msgfmt xgettext sync uuencode uudecode ditto link dot plantuml mmdc pdftotext cwebp rsvg-convert inkscape qpdf wasm-opt wat2wasm patch jpegoptim pngquant gifsicle sox lame tidy ctags etags cscope pv recode genisoimage xsltproc optipng-js woff2_compress fonttools pyftsubset pdfunite pdfseparate pdftoppm exif tesseract',
    ),
    paths: 'write',
    cautions: [
      runsOrLoads,
      {
        word: /^(?:--lua-filter|--filter|-F$|--pdf-engine|--extract-media|--writesubtree$|-diff-cmd|--record-cmd|-filter_complex_script)/,
        concern: 'runs_other_code',
        message: 'runs another program',
      },
      {
        word: /^(?:-[a-zA-Z]*L[a-zA-Z]*|--dereference|--copy-links)$/,
        concern: 'SYMLINK_OUTSIDE_WORKSPACE',
        message: 'follows links, which may lead outside',
      },
      {
        word: /^(?:-m|--mode=)?(?:0?[4-7][0-7]{3}|[ugoa]+[+=][rwx]*s[rwxs]*)$/,
        concern: 'destructive',
        message: 'sets the set-user-id bit',
      },
      {
        word: /^(?:mvg|msl|url|ephemeral|https?|ftp|concat|file|subfile|crypto|data|pipe|tcp|udp|rtmp|hls|cache|async):|^[@|]/i,
        concern: 'runs_other_code',
        message: 'reads a script or another place',
      },
    ],
    justification: 'writes files of the workspace',
    match: ['mkdir -p src/new/dir', 'touch src/new.ts', 'cp a.txt b.txt', 'ln -s src lib', 'npm test | tee out.log'],
    notMatch: [
      'cp x ~/.ssh/authorized_keys',
      'touch /outside/x',
      'mkdir /outside/d',
      'tee .vscode/mcp.json',
      'ln -sf /etc e',
      'cp evil .git/hooks/post-checkout',
      'cp /dev/null /etc/hosts',
      'cp x /dev/nvme0n1',
    ],
  },
  {
    id: 'workspace.unique',
    programs: ['uniq'],
    paths: 'write',
    takesPipes: true,
    justification: 'takes repeated lines out of files of the workspace',
    match: ['uniq -c a.txt', 'uniq a.txt b.txt', 'uniq -c <(sort a.txt)'],
    notMatch: ['uniq a.txt /outside/x', 'uniq .env', 'uniq -c <(curl x)'],
  },
  {
    id: 'workspace.install',
    programs: ['install'],
    paths: 'write',
    cautions: [
      {
        word: /^(?:-[a-zA-Z]*[og]|--owner|--group|--strip-program)/,
        concern: 'destructive',
        message: 'gives a file to another user, or runs a program',
      },
      {
        word: /^(?:(?:-m|--mode=)?(?:0?[4-7][0-7]{3}|[ugoa]+[+=][rwx]*s[rwxs]*))$/,
        concern: 'destructive',
        message: 'sets the set-user-id bit',
      },
    ],
    justification: 'copies files of the workspace',
    match: ['install -Dm644 a.txt out/a.txt', 'install -d build/bin', 'install -m 755 app bin/app'],
    notMatch: ['install -m4755 a b', 'install -g root a b', 'install -m755 x /usr/local/bin/', 'install -D x ~/.local/bin/x'],
  },
  {
    id: 'workspace.csplit',
    programs: ['csplit'],
    paths: 'write',
    codeBehindFirst: () => undefined,
    cautions: [
      { word: /^(?:-f|--prefix=)?(?:\.|~|\/(?!.*\/(?:[+-]\d+)?$))/, concern: 'PATH_OUTSIDE_WORKSPACE', message: 'a place outside' },
    ],
    justification: 'splits files of the workspace at patterns',
    match: ["csplit a.txt '/^#/' '{*}'", 'csplit -f part- a.txt 10'],
    notMatch: ['csplit /etc/passwd 1', 'csplit -f ../x a.txt 1', 'csplit -f p /etc/passwd 1', 'csplit -f p .env 1'],
  },
  {
    id: 'workspace.rsync',
    programs: ['rsync'],
    paths: 'write',
    textOptions: ['--exclude', '--include', '-f', '--filter'],
    cautions: [
      { word: /^(?!-)[^/]*:/, concern: 'network_blocked', message: 'another machine' },
      {
        word: /^(?:-[a-zA-Z]*[eL]|--(?!(?:archive|verbose|recursive|delete(?:-after|-before|-during)?|exclude|include|dry-run|progress|stats|itemize-changes|checksum|update|links|times|perms|quiet|human-readable|compress|relative|size-only|ignore-existing|mkpath|info|no-\w+|max-size|min-size)(?:=|$)))/,
        concern: 'runs_other_code',
        message: 'runs another program, or is not known',
      },
    ],
    justification: 'copies trees within the workspace',
    match: ['rsync -av src/ backup/', 'rsync -a --delete --exclude node_modules src/ out/'],
    notMatch: [
      'rsync -a . host:/x',
      "rsync -e 'sh -c id' a b:",
      'rsync rsync://x/y .',
      'rsync -a src/ /outside/',
      'rsync --rsync-path=x a b',
    ],
  },
  {
    id: 'workspace.split',
    programs: ['split', 'sort'],
    paths: 'write',
    textOptions: ['-t', '-k', '--field-separator', '--key'],
    cautions: [
      { word: /^(?:--compress-program|--filter|--comp|--fil|--files0-from)/, concern: 'runs_other_code', message: 'runs another program' },
    ],
    justification: 'sorts and splits files of the workspace',
    match: ['sort a.txt', 'sort -rn', 'sort -o b.txt a.txt', 'split -l 100 a.txt part-'],
    notMatch: ['sort -o /outside/x file.txt', 'sort --compress-program=./x a', 'split --filter=id x', 'split -b1 x /outside/y'],
  },
  {
    id: 'workspace.remove',
    programs: words('rm rmdir unlink mv rename shred truncate trash rimraf del-cli srm'),
    paths: 'remove',
    cautions: [
      { word: /^--no-preserve-root$/, concern: 'destructive', message: 'removes the root' },
      { word: /^(?:-s|--size=?)[+<>/%]?\d*(?:[GTPEZY]i?B?)$|^\d+[TPEZY]i?B?$/, concern: 'destructive', message: 'a very large file' },
    ],
    justification: 'removes and moves files of the workspace, never all of it',
    match: ['rm file.txt', 'rm -rf dist build coverage', 'mv a.txt b.txt', 'rm -rf node_modules/.cache', 'rm -f *.log'],
    notMatch: [
      'rm -rf /',
      'rm -rf ~',
      'rm -rf ..',
      'rm -rf .',
      'rm -rf *',
      'mv /etc/passwd .',
      'mv x .mcp.json',
      'rm -rf .git',
      'rm -rf "$HOME"',
      'rm -rf $UNKNOWN',
      'mv src /tmp',
    ],
  },
  {
    id: 'workspace.mode',
    programs: ['chmod'],
    paths: 'write',
    textFirst: true,
    cautions: [
      { word: /^0?000$|^a?[-=]$|^a-rwx$/, concern: 'destructive', message: 'takes every right away' },
      { word: /^(?:0?[2-7][0-7]{3}|[ugoa]*[+=][rwxXt]*s\w*|--reference.*)$/, concern: 'destructive', message: 'sets the set-user-id bit' },
    ],
    justification: 'makes files of the workspace executable or readable',
    match: ['chmod +x scripts/build.sh', 'chmod 644 a.txt', 'chmod -R u+w dist'],
    notMatch: ['chmod u+s ./app', 'chmod 4755 ./app', 'chmod 777 /etc', 'chmod g+s x', 'chmod +x .git/hooks/pre-commit'],
  },
  {
    id: 'workspace.archive',
    programs: words('tar bsdtar zip unzip gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd 7z 7za 7zz ar jar brotli pigz lz4 ouch'),
    paths: 'write',
    textOptions: ['--exclude'],
    cautions: [
      runsOrLoads,
      { word: /^(?!-)[\w.-]+(?:@[\w.-]+)?:(?!$)/, concern: 'network_blocked', message: 'an archive on another machine' },
      absoluteNames,
      {
        word: /^(?:--(?:check|to|use|rsh|rmt|info|new-v|unzip|index|files-f|abs)|-[a-zA-Z]*TT|-[cxturvzjJapkmhSwWlnoOU]*[IF]|[cxtru][cxturvzjJapkmhSwWlnoOUf]*[IF][a-zA-Z]{0,6}$|-T$)/,
        concern: 'runs_other_code',
        message: 'runs another program',
      },
    ],
    justification: 'packs and unpacks files of the workspace',
    match: [
      'tar czf out.tgz src',
      'tar -xzf vendor.tgz -C build',
      'tar --exclude=.git -czf x.tgz .',
      'zip -r x.zip src',
      'unzip x.zip -d build',
      'gzip -k a.txt',
    ],
    notMatch: [
      'tar xPf x.tar',
      'tar cf x.tar --checkpoint=1 --checkpoint-action=exec=id src',
      'tar xf x.tar --to-command=./x',
      'unzip x.zip -d /outside',
      'zip x.zip a -T -TT id',
      'tar xf x.tar -C /',
      'tar -I ./x -cf a.tar b',
    ],
  },
  {
    id: 'workspace.dd',
    programs: ['dd'],
    paths: 'text',
    cautions: [
      {
        word: /^(?!if=\/dev\/(?:zero|u?random)$|(?:if|of)=(?!\/|~|\.\.|\.git\/|.*\/\.\.)|(?:bs|ibs|obs)=\d{1,6}[kKM]?$|(?:count|skip|seek)=\d{1,4}$|(?:status|conv)=)/,
        concern: 'destructive',
        message: 'raw copying from or to a device, or of a large amount',
      },
    ],
    justification: 'copies blocks between files of the workspace',
    match: ['dd if=a.bin of=b.bin bs=1k count=10'],
    notMatch: [
      'dd if=/dev/zero of=x bs=1G count=1000',
      'dd of=/dev/sda if=x',
      'dd if=x of=/outside/y',
      'dd if=x of=../y',
      'dd if=.env of=y',
    ],
  },
  {
    id: 'workspace.sed',
    programs: ['sed', 'gsed'],
    paths: 'write',
    textFirst: ['-e', '--expression', '-f', '--file', '-ne', '-En', '-nE'],
    codeFault: sedFault,
    codeOption: /^(?:-[nErszu]*e|--expression(?:=|$))(.*)$/s,
    cautions: [
      { word: /^(?:--in-place=.*\/|-[nErszu]*f.*)$/, concern: 'unclear', message: 'a script file' },
      {
        word: /^--(?!(?:quiet|silent|expression|regexp-extended|in-place|null-data|separate|line-length|posix|unbuffered|sandbox|debug|version|help)(?:=|$)|$)/,
        concern: 'unclear',
        message: 'a long option that is not whole, names a script or follows links',
      },
    ],
    justification: 'edits text of the workspace',
    match: [
      'sed -i "s/foo/bar/g" src/index.ts',
      "sed -n '1,10p' a.txt",
      "sed 's/e/w/' a.txt",
      "sed -e 's|/etc/x|y|' a.txt",
      "sed -i '/console.log/d' a.ts",
      "sed '/^write/d' x",
    ],
    notMatch: [
      "sed '1e curl x' file.txt",
      'sed -n "w /outside/x" file.txt',
      'sed -i s/a/b/ /etc/hosts',
      'sed -i s/a/b/ .git/config',
      "sed 's/a/b/e' x",
      "sed 's/a/b/w /outside/x' x",
      "sed '/a/w x' y",
      "sed 'r /etc/passwd' a",
      'sed -f evil.sed x',
    ],
  },
  {
    id: 'workspace.awk',
    programs: ['awk', 'gawk', 'mawk', 'nawk'],
    paths: 'read',
    printsOnly: true,
    textFirst: ['-f', '--file', '-e', '--source'],
    codeFault: awkFault,
    codeOption: /^(?:-e|--source(?:=|$))(.*)$/s,
    textOptions: ['-F', '-v', '--field-separator', '--assign'],
    cautions: [
      {
        // Long options are taken by any unambiguous start, so only whole known ones pass.
        word: /^(?:-[fliEdpoDS]|--(?!(?:field-separator|assign|source|posix|traditional|re-interval|sandbox|version|characters-as-bytes|csv)(?:=|$)|$))/,
        concern: 'runs_other_code',
        message: 'loads code or writes files',
      },
    ],
    justification: 'prints columns of files of the workspace',
    match: ["awk '{print $1}' a.txt", "awk -F, '{s+=$2} END {print s}' a.csv", "ls -l | awk '{print $5}'"],
    notMatch: [
      'awk \'BEGIN{system("curl x")}\'',
      'awk \'{print > "/outside/x"}\' a',
      'awk \'BEGIN{"id"|getline x}\'',
      "awk '{print $1}' /etc/passwd",
      'awk -f x.awk a',
    ],
  },
];
