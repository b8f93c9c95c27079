import type { SyntaxNode } from './syntax.ts'

/**
 * Why a here-document cannot be trusted to be mere text; undefined when it is. The parser overlooks expansions in bodies
 * and can be led astray by delimiters, so the body is found a second time, by its lines.
 */
export function findHereDocumentProblem(node: SyntaxNode, source: string): string | undefined {
  const part = (type: string) => node.children.find((child) => child.type === type)
  const [start, end] = [part('heredoc_start'), part('heredoc_end')]
  const operator = node.children.find(({ type }) => type === '<<' || type === '<<-')
  if (start === undefined || end === undefined || operator === undefined) return 'its here-document is not understood'
  const delimiter = /^(?:([A-Za-z_]\w*)|'(\w+)'|"(\w+)"|\\(\w+))$/.exec(source.slice(start.startIndex, start.endIndex))
  if (delimiter === null) return 'its here-document has an unusual end mark'
  const name = delimiter.slice(1).find((text) => text !== undefined)!
  const found = findBody(source, start.endIndex, { name, tabs: operator.type === '<<-' })
  if (found === undefined || source.slice(end.startIndex, end.endIndex).trim() !== name)
    return 'its here-document has no clear end'
  if (end.endIndex !== found.endsAt) return 'its here-document is not understood'
  const isLiteral = delimiter[1] === undefined
  return !isLiteral && /[$`\\]/.test(found.body) ? 'its here-document may run commands' : undefined
}

/** `endsAt`: after the end mark. */
type Body = { body: string; endsAt: number }

function findBody(source: string, from: number, { name, tabs }: { name: string; tabs: boolean }): Body | undefined {
  const starts = source.indexOf('\n', from) + 1
  if (starts === 0) return undefined
  for (let at = starts; at <= source.length; ) {
    const newline = source.indexOf('\n', at)
    const lineEnd = newline === -1 ? source.length : newline
    const line = source.slice(at, lineEnd)
    if ((tabs ? line.replace(/^\t+/, '') : line) === name) return { body: source.slice(starts, at), endsAt: lineEnd }
    at = lineEnd + 1
  }
  return undefined
}
