import type { Reader } from './read-script.ts'
import { leaves, type SyntaxNode, wordKinds } from './syntax.ts'
import { dynamicWord, readWord, type Word } from './words.ts'

const inert = /^(LANG|LC_\w+|TZ|NO_COLOR|CI)$/

/** Reads words, and what runs inside of them. */
export function createWordReader({ textOf, problem, parts, sequence, nest }: Reader) {
  return { word, inside, assignment }

  /** Why the variable matters; undefined when it is inert. */
  function assignment(node: SyntaxNode, folders: string[]): string | undefined {
    const [name, value, ...more] = parts(node)
    if (value !== undefined) inside(value, folders)
    const isLiteral = value === undefined || (wordKinds.has(value.type) && readWord(textOf(value))?.dynamic === false)
    const isInert = name !== undefined && inert.test(textOf(name)) && isLiteral && more.length === 0
    return isInert ? undefined : `it sets ${name === undefined ? 'a variable' : textOf(name)}`
  }

  function word(node: SyntaxNode, folders: string[]): Word {
    const raw = textOf(node)
    const only = node.type === 'command_name' && node.children.length === 1 ? node.children[0]! : node
    inside(only, folders)
    const read = readWord(raw)
    // `{name}>file` sets a variable in bash.
    if (/^\{[A-Za-z_]\w*\}$/.test(raw)) problem(`it may set ${raw}`)
    if (read !== undefined) return read
    if (!only.type.endsWith('_substitution')) problem('parts of it are unclear')
    return dynamicWord(raw)
  }

  /** Looks for what runs inside a word. */
  function inside(node: SyntaxNode, folders: string[]): void {
    if (leaves.has(node.type)) return
    if (node.type === 'simple_expansion') {
      if (!/^\s*\$(\w+|[?#@*!$_-])$/.test(textOf(node))) problem('it has an unclear expansion')
      return
    }
    if (node.type === 'expansion' && !/^\$\{\w+\}$/.test(textOf(node))) problem('it has an unusual expansion')
    if (node.type === 'command_substitution' && /^`[\s\S]*\\/.test(textOf(node)))
      problem('it has an unclear substitution')
    if (node.type === 'command_substitution' || node.type === 'process_substitution') {
      sequence(node, folders)
      return
    }
    nest(() => {
      // A string may swallow blanks between its parts: they are part of the word, which is not literal then.
      const isLoose = node.type === 'string' || node.type === 'expansion'
      for (const child of isLoose ? node.children.filter(({ isNamed }) => isNamed) : parts(node)) inside(child, folders)
    })
  }
}
