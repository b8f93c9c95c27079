/** Folders whose files make other programs run commands, this runtime included. */
export const protectedFolders: readonly string[] = [
  '.git',
  '.troupe',
  '.claude',
  '.opencode',
  '.vscode',
  '.idea',
  '.husky',
  '.ssh',
  '.gnupg',
  '.config/fish',
  '.config/git',
  '.config/systemd',
  '.config/autostart',
  '.config/troupe',
]

/** Files that do: what agents are told, what a shell, git or a package manager runs as it starts. */
export const protectedFiles: readonly string[] = [
  'troupe.yaml',
  'AGENTS.md',
  'CLAUDE.md',
  '.mcp.json',
  '.envrc',
  '.gitconfig',
  '.npmrc',
  '.bashrc',
  '.bash_profile',
  '.bash_login',
  '.bash_logout',
  '.bash_aliases',
  '.profile',
  '.zshrc',
  '.zshenv',
  '.zprofile',
  '.zlogin',
  '.zlogout',
  '.kshrc',
  '.inputrc',
  '.xprofile',
  '.xsession',
  '.xinitrc',
  '.vimrc',
  '.exrc',
  '.gdbinit',
]

const folders = protectedFolders.map(escaped).join('|')
const files = protectedFiles.map(escaped).join('|')
// Upper case counts as lower: so do some file systems.
const protectedPath = new RegExp(`(^|/)((${folders})(/|$)|(${files})$)`, 'i')

/** True for files that make other programs run commands: only a person's own yes lets them be edited. */
export function isProtected(path: string): boolean {
  return protectedPath.test(path)
}

function escaped(text: string): string {
  return text.replaceAll('.', '\\.')
}
