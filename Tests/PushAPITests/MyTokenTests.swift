import PushAPI
import Testing

@Suite(.timeLimit(.minutes(5))) struct MyTokenTests {
    @Test(arguments: [("0", "3"), ("1", "20"), ("999999", "16999986"), ("126322567", "2147483642"), ("007", "122")])
    func theEchoIsSeventeenTimesTheNumberAndThree(sent: String, echo: String) throws {
        #expect(try MyToken(text: sent).echo == echo)
    }

    @Test(arguments: ["", " 1", "1 ", "+1", "-1", "1.0", "0x1", "1e3", "١", "one", "1,2"])
    func tokenMustBeADecimalNumber(text: String) {
        #expect(throws: MyToken.Invalid.notANumber) { try MyToken(text: text) }
    }

    @Test(arguments: ["126322568", "2147483647", "2147483648", "99999999999999999999999999"])
    func tokenTooLargeForAClientIsOutOfRange(text: String) {
        #expect(throws: MyToken.Invalid.outOfRange) { try MyToken(text: text) }
    }

    @Test func randomTokensAreInRangeAndDiffer() {
        let tokens = Set((0..<100).map { _ in MyToken.random() })
        #expect(tokens.count > 90)
        #expect(tokens.allSatisfy { MyToken.range.contains($0.value) })
    }
}

@Suite(.timeLimit(.minutes(5))) struct ProblemTests {
    @Test func eachCodeHasATitleAndAnErrorStatusAndIsFoundAgainByItsType() {
        for code in ProblemCode.allCases {
            #expect((400...599).contains(code.status))
            #expect(!code.title.isEmpty)
            #expect(Problem(code).code == code)
        }
    }

    @Test func theBodyHasTheMembersOfRFC9457() {
        var problem = Problem(.notFound, "say \"what\"")
        problem.instance = "abc"
        let text = String(decoding: problem.json.bytes, as: UTF8.self)
        #expect(
            text == #"{"type":"urn:sealpost:problem:not-found","title":"Not found","status":404,"#
                + #""detail":"say \"what\"","instance":"abc"}"#
        )
    }
}
