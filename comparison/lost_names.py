import ast,pathlib,subprocess,re,sys
files=[f for f in subprocess.run(["git","ls-files"],capture_output=True,text=True).stdout.split() if f.endswith(".py") and not f.startswith("comparison")]
defined=set(); 
for f in files:
    t=ast.parse(pathlib.Path(f).read_text())
    for n in ast.walk(t):
        if isinstance(n,(ast.FunctionDef,ast.AsyncFunctionDef,ast.ClassDef)): defined.add(n.name)
        if isinstance(n,ast.AnnAssign) and isinstance(n.target,ast.Name): defined.add(n.target.id)
        if isinstance(n,ast.Assign):
            for x in n.targets:
                for y in ast.walk(x):
                    if isinstance(y,ast.Name): defined.add(y.id)
        if isinstance(n,ast.Attribute) and isinstance(n.ctx,ast.Store): defined.add(n.attr)
        if isinstance(n,ast.keyword) and n.arg: defined.add(n.arg)
olds={}
for fn in sys.argv[1:]:
    for l in open(fn):
        if l.startswith("#"): continue
        m,q,n=l.split(); olds[q.split(".")[-1]]=n
gone=[o for o in olds if o not in defined]
for o in gone:
    out=subprocess.run(["git","grep","-nE",rf"\.{o}\b|\"{o}\"|'{o}'|:\w+:`[\w.~]*\b{o}`|``{o}``","--","*.py","*.md","*.ipynb","*.html","*.js"],capture_output=True,text=True).stdout.splitlines()
    for x in out[:4]: print(o,"->",olds[o],"|",x[:140])
