import type { Node } from 'web-tree-sitter'

/** A node of the parser's tree. */
export type SyntaxNode = Pick<
  Node,
  'type' | 'isNamed' | 'isMissing' | 'isError' | 'hasError' | 'descendantCount' | 'startIndex' | 'endIndex'
> & {
  readonly children: SyntaxNode[]
}

/** Hands the tree of `source` to `use`, whose result it returns; undefined where parsing took too long. */
export type ParseShell = <T>(source: string, use: (root: SyntaxNode) => T) => T | undefined

/** Statements whose parts are understood, with the signs and keywords that they may hold. What is not here asks. */
export const understood: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries({
    program: '; & \n',
    list: '&& ||',
    pipeline: '| |&',
    negated_command: '!',
    subshell: '( ) ; & \n',
    compound_statement: '{ } ; & \n',
    if_statement: 'if then fi ; & \n',
    elif_clause: 'elif then ; & \n',
    else_clause: 'else ; & \n',
    while_statement: 'while until ; & \n',
    do_group: 'do done ; & \n',
    for_statement: 'for in ; \n',
    command_substitution: '$( ) ` ; & \n',
    process_substitution: '<( >( ) ; & \n',
    redirected_statement: '',
    command: '',
    command_name: '',
    file_redirect: '< > >> >| &> &>> >& <& <> >&- <&-',
    herestring_redirect: '<<<',
    heredoc_redirect: '<< <<- && || | |& ;',
    heredoc_body: '',
    variable_assignment: '= +=',
    string: '"',
    concatenation: '',
    simple_expansion: '$ ',
    expansion: '${ }',
  }).map(([type, signs]) => [type, new Set(signs.split(' '))]),
)

/** Parts of words that hold nothing else that could run. */
export const leaves: ReadonlySet<string> = new Set(
  'word number string_content raw_string variable_name special_variable_name file_descriptor heredoc_start heredoc_end'.split(
    ' ',
  ),
)

/** Kinds of nodes that are a word of a command. */
export const wordKinds: ReadonlySet<string> = new Set(
  'word number string raw_string concatenation simple_expansion expansion command_substitution process_substitution ansi_c_string brace_expression translated_string arithmetic_expansion'.split(
    ' ',
  ),
)
