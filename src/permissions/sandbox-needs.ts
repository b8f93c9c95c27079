import { basename } from 'node:path'
import type { SandboxLeave } from '../core/messages.ts'

/** What one command needs that a sandbox keeps from it; `why` is a phrase for people. */
export type SandboxNeed = Pick<SandboxLeave, 'network' | 'git'> & { why: string }

const words = (text: string) => new Set(text.split(' '))

/** Programs whose every use is of the network. */
const networkPrograms = words(
  'curl wget http https xh aria2c ping dig host nslookup whois traceroute ssh scp sftp rsync nc ncat netcat socat telnet ' +
    'ftp lftp docker podman kubectl helm gh glab brew apt apt-get dnf yum pacman apk snap npx pnpx bunx uvx pipx',
)

/** Those of which some commands are. */
const networkCommands: Record<string, Set<string>> = {
  git: words('clone fetch pull push ls-remote submodule remote'),
  npm: words('install i ci add update up upgrade publish view info outdated audit create init exec search login'),
  pnpm: words('install i add update up upgrade publish outdated audit create dlx exec'),
  yarn: words('install add up upgrade publish outdated audit create dlx npm'),
  bun: words('install i add update x create publish'),
  deno: words('install add cache outdated publish'),
  pip: words('install download index search'),
  pip3: words('install download index search'),
  uv: words('add sync pip lock tool python publish'),
  poetry: words('install add update lock publish'),
  cargo: words('install add update fetch publish search login'),
  go: words('get install mod'),
  gem: words('install update fetch push search'),
  bundle: words('install update add'),
  composer: words('install update require create-project'),
  conda: words('install create update search'),
}

/** Commands of git that leave the repository's data alone. */
const gitReaders = words(
  'status log show diff blame grep shortlog describe rev-parse rev-list ls-files ls-tree ls-remote cat-file name-rev ' +
    'for-each-ref show-ref merge-base diff-tree diff-files diff-index count-objects fsck var version help check-ignore clone',
)

/** What a command, as its words with blanks between them, needs beyond the sandbox; `undefined`: nothing that is known. */
export function findNeed(command: string): SandboxNeed | undefined {
  const [head = '', ...rest] = command.trim().split(/\s+/)
  const program = basename(head)
  const sub = subCommand(program, rest)
  const network = networkPrograms.has(program) || networkCommands[program]?.has(sub) === true
  const git = program === 'git' && sub !== '' && !gitReaders.has(sub)
  if (!network && !git) return undefined
  const [does, kept] = network ? ['uses the network', 'off'] : ['writes the repository', 'read-only']
  const why = `it ${does}, which the sandbox keeps ${kept}; a yes lets it`
  return { ...(network && { network }), ...(git && { git }), why }
}

// git's global options come before its command; two of them take a word of their own.
function subCommand(program: string, rest: string[]): string {
  let skipped = 0
  while (rest[skipped]?.startsWith('-')) skipped += program === 'git' && /^-[cC]$/.test(rest[skipped]!) ? 2 : 1
  return rest[skipped] ?? (program === 'yarn' ? 'install' : '')
}
