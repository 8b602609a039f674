// Apps import one module. Signed answers and items have types of the other two.
@_exported public import HTTPSignatures
@_exported public import PushAPI
