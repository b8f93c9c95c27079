/** Folders whose files make other programs run commands, this runtime included. */
export const protectedFolders: readonly string[] = [
  '.git',
  '.troupe',
  '.claude',
  '.opencode',
  '.vscode',
  '.idea',
  '.husky',
  '.zed',
  '.cursor',
  '.gemini',
  '.codex',
  '.devcontainer',
  '.bashrc.d',
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
  'GEMINI.md',
  '.mcp.json',
  '.envrc',
  '.gitconfig',
  '.npmrc',
  '.cargo/config',
  '.cargo/config.toml',
  '.yarnrc',
  '.yarnrc.yml',
  '.pnpmfile.cjs',
  '.pre-commit-config.yaml',
  '.direnvrc',
  '.pam_environment',
  '.tmux.conf',
  '.nvimrc',
  '.nvim.lua',
  '.lldbinit',
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
// Upper case counts as lower, and what cannot be seen as nothing: so do some file systems.
const protectedPath = new RegExp(`(^|/)((${folders})(/|$)|(${files}|[^/]+\\.code-workspace)$)`, 'iu')
const unseen = /\p{Default_Ignorable_Code_Point}/gu

/** True for files that make other programs run commands: only a person's own yes lets them be edited. */
export function isProtected(path: string): boolean {
  return protectedPath.test(path.replace(unseen, ''))
}

function escaped(text: string): string {
  return text.replaceAll('.', '\\.')
}
