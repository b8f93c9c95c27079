// Keys of model providers and the like: a command runs what the model wrote.
const secret = /(^|_)(KEY|KEY_ID|TOKEN|CREDENTIALS?|PASSWD|PASSPHRASE|PAT|AUTH)$|PASSWORD|SECRET|API_?KEY/i

// They change how a program starts, or belong to the folder and the terminal that Troupe was started in.
const misleading = new Set([
  'NODE_OPTIONS',
  'NODE_CHANNEL_FD',
  'NODE_UNIQUE_ID',
  'NODE_V8_COVERAGE',
  'LD_PRELOAD',
  'LD_AUDIT',
  'DYLD_INSERT_LIBRARIES',
  'BASH_ENV',
  'ENV',
  'PROMPT_COMMAND',
  'SHELLOPTS',
  'BASHOPTS',
  'PWD',
  'OLDPWD',
  'CDPATH',
  'COLUMNS',
  'LINES',
])

// Nobody is there to answer, to edit a message or to leaf through a page.
const unattended = {
  GIT_TERMINAL_PROMPT: '0',
  GIT_EDITOR: 'true',
  GIT_SEQUENCE_EDITOR: 'true',
  EDITOR: 'true',
  VISUAL: 'true',
  PAGER: 'cat',
  GIT_PAGER: 'cat',
  MANPAGER: 'cat',
  SYSTEMD_PAGER: 'cat',
  DEBIAN_FRONTEND: 'noninteractive',
  TERM: 'dumb',
}

/**
 * The environment of a command, but for `PWD`, which follows its folder: ours without secrets and without what changes
 * how programs start, set so that no program waits for a person.
 */
export function toolEnvironment(env: NodeJS.ProcessEnv = process.env): Record<string, string> {
  const kept = Object.entries(env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && !isDropped(entry[0]),
  )
  return { ...Object.fromEntries(kept), ...unattended }
}

function isDropped(name: string): boolean {
  return misleading.has(name) || name.startsWith('BASH_FUNC_') || secret.test(name)
}
